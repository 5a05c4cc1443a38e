import { playCells } from "./play-cells.ts";

playCells("gemini", ["stream", "plain", "spawn", "run"]);
