import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

/**
 * Tells when something happens to a file. It watches the folder, because an editor puts a new file in the place of the old one. Where watching does not
 * work, nobody is told: whoever needs to know looks now and then.
 */
export function watchFile(path: string, changed: () => void): () => void {
  const name = basename(path);
  const watcher = start(dirname(path), (touched) => {
    if (touched === null || touched === name) changed();
  });
  return () => watcher?.close();
}

function start(folder: string, touched: (name: string | null) => void): FSWatcher | null {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => touched(name));
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}
