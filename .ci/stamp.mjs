// What the last build read and wrote, so that the next one knows whether there is anything to do.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Outside `dist`, which is packed; one file a checkout, because checkouts may share a `node_modules`. */
const stampPath = (root) => {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  return join(root, 'node_modules/.cache/forkwait', `build-${name}.json`);
};

/** Size and time of each file; `null` for one that does not exist. */
const look = (paths) =>
  Object.fromEntries(
    paths.map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return [path, stat ? [stat.size, stat.mtimeMs] : null];
    }),
  );

export function isUpToDate(root) {
  try {
    const { node, files } = JSON.parse(readFileSync(stampPath(root), 'utf8'));
    return node === process.version && JSON.stringify(look(Object.keys(files))) === JSON.stringify(files);
  } catch {
    return false;
  }
}

/** Leaves no stamp when an input changed after the build began: what was built may be older than that. */
export function writeStamp(root, { startedAt, inputs, outputs }) {
  const read = look(inputs);
  const changed = Object.values(read).some((seen) => seen !== null && seen[1] >= startedAt);
  if (changed) return;
  const path = stampPath(root);
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ node: process.version, files: { ...read, ...look(outputs) } }));
  renameSync(draft, path);
}
