import { playCells } from "./play-cells.ts";

playCells("claude", ["stream", "plain"]);
