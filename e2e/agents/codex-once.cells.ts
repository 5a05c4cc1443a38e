import { playCells } from "./play-cells.ts";

playCells("codex", ["stream", "plain"]);
