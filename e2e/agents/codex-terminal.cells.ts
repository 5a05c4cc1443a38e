import { playCells } from "./play-cells.ts";

playCells("codex", ["spawn", "run"]);
