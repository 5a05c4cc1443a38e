import { statSync } from "node:fs";
import { Fault } from "@rouse/contract";

/** Making a secret private now would only hide that others may have read it. `so`: what follows from that, and what to do. */
export function refuseIfOthersCanRead(file: string, so: string): void {
  const { mode } = statSync(file);
  if ((mode & 0o077) === 0) return;
  throw new Fault(
    "data-folder-unusable",
    `others may read ${file} (mode ${(mode & 0o777).toString(8)}), and ${so}. If certainly nobody has read it: chmod 600 ${file}`,
  );
}
