import { printable, type RunningProcess } from "@rouse/contract";

export const countProcesses = ({ length }: readonly RunningProcess[]): string =>
  `${length} process${length === 1 ? "" : "es"}`;

/** A process names itself. */
export const listProcesses = (processes: readonly RunningProcess[]): string =>
  processes.map(({ pid, name }) => `${pid} ${printable(name, 40)}`).join(", ");
