/** A small pipeline of plain commands, and what is left of a run of it. */
import { join } from 'node:path';
import { contents, initRepository, type Rig } from './rig.js';

/** a --> b --> c, and `side`; each says in `log` that it ran. */
export const SMALL = `name: small
targets:
  a: { command: "echo a >> ../log; echo a > a.out", outputs: [a.out] }
  b: { needs: [a], command: "echo b >> ../log; echo b > b.out", outputs: [b.out] }
  c: { needs: [b], command: "echo c >> ../log" }
  side: { command: "echo side >> ../log" }
`;

export const initSmall = (rig: Rig, text = SMALL): void =>
  initRepository(rig, { 'targets.yaml': text, '.gitignore': '*.out\n' }, { remote: false });

export const ranIn = (rig: Rig): readonly string[] =>
  rig.has('../log') ? rig.read('../log').split('\n').filter(Boolean) : [];

/** The record apart from the lock, which a command that is refused takes and gives back. */
export const recordOf = (rig: Rig, ticket: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contents(join(rig.repo, '.orchestrate', ticket))).filter(
      ([name]) => !name.startsWith('lock.'),
    ),
  );
