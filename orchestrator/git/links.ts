/** More than this many links on one way is a loop for the kernel too. Source: path_resolution(7). */
const MOST_HOPS = 40;

/**
 * Whether a symbolic link leads out of the tree it is in, through whatever other links of that tree. Nothing on disk is
 * looked at: what counts is what the tree object says, wherever it is checked out. An absolute link leads out anywhere.
 * @param links what each symbolic link of the tree says, by path; bytes as characters
 */
export const leadsOut = (links: ReadonlyMap<string, string>, path: string): boolean => {
  const pending = path.split('/').toReversed();
  const reached: string[] = [];
  let hops = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '..') {
      if (reached.pop() === undefined) return true;
    } else if (part !== '' && part !== '.') {
      const target = links.get([...reached, part].join('/'));
      if (target === undefined) reached.push(part);
      else if (target.startsWith('/')) return true;
      else if (hops < MOST_HOPS) pending.push(...target.split('/').toReversed());
      else return false;
      hops += target === undefined ? 0 : 1;
    }
  }
  return false;
};
