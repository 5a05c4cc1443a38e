import { playCells } from "./play-cells.ts";

playCells("claude", ["spawn", "run"]);
