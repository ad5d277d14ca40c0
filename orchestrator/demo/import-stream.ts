export interface SampleCommit {
  /** Author's and committer's time, seconds since the epoch, UTC. */
  readonly seconds: number;
  readonly message: string;
  /** Path to text; added to what the commit before has. */
  readonly files: Readonly<Record<string, string>>;
}

const dataOf = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;

/**
 * Commits of one branch as input of `git fast-import`. Ids depend on these values alone: no clock, no identity, no hook,
 * filter, signature or template of the machine has a part in them.
 * @param author `Name <address>`, also the committer
 */
export const importStream = (ref: string, author: string, commits: readonly SampleCommit[]): string =>
  commits
    .map(({ seconds, message, files }) => {
      const who = `${author} ${seconds} +0000`;
      const changes = Object.entries(files).map(([path, text]) => `M 100644 inline ${path}\n${dataOf(text)}`);
      return `commit ${ref}\nauthor ${who}\ncommitter ${who}\n${dataOf(message)}${changes.join('')}\n`;
    })
    .join('');
