import { playCells } from "./play-cells.ts";

playCells("opencode", ["stream", "plain", "spawn", "run"]);
