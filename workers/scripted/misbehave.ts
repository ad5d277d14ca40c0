import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { once } from 'node:events';
import type { Assignment } from './assignment.js';
import { returnText, type Returned } from './returned.js';
import type { MisbehaveAction, Misbehaviour, Oddity } from './script.js';

/** The actions that this run was told to perform. */
export const actionsFor = (
  { makes, round, attempt }: Assignment,
  entries: readonly Misbehaviour[],
): readonly MisbehaveAction[] =>
  entries
    .filter(
      (entry) =>
        entry.makes === makes && (entry.round ?? round) === round && (entry.attempt ?? attempt) === attempt,
    )
    .map(({ action }) => action);

const LINE = `${'x'.repeat(99)}\n`;
const CHUNK = LINE.repeat(640);

const print = async (bytes: number): Promise<void> => {
  for (let left = bytes; left > 0; left -= CHUNK.length) {
    const chunk = left < CHUNK.length ? CHUNK.slice(0, left) : CHUNK;
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
  }
};

const FOREVER_MS = 2 ** 31 - 1;

const hang = async (isDeaf: boolean): Promise<never> => {
  if (isDeaf)
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.on(signal, () => process.stdout.write(`heard ${signal}\n`));
  process.stdout.write('hanging\n');
  return new Promise(() => setInterval(() => undefined, FOREVER_MS));
};

const writeAnywhere = (assignment: Assignment, template: string, text: string): void => {
  const path = template.replaceAll('{tree}', assignment.tree).replaceAll('{out}', assignment.out);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    process.stdout.write(`wrote ${path}\n`);
  } catch (error) {
    process.stdout.write(`could not write ${path}: ${String(error)}\n`);
  }
};

/** A counterfeit: no page was read and no probe was run. */
const counterfeit = ({ nonce = '', pillars, pages }: Assignment, what: Oddity): Returned => ({
  status: 'done',
  summary: [`misbehaving on purpose: ${what}`],
  verdict: {
    verdict: 'APPROVED',
    nonce: what === 'wrong-nonce' ? '0'.repeat(Math.max(nonce.length, 1)) : nonce,
    blockers: [],
    pillars: Object.fromEntries(pillars.map((pillar) => [pillar, 'none'])),
    dismissed: [],
    deadEnds: [],
    pages: what === 'wrong-nonce' ? pages.map(({ digest }) => digest) : [],
  },
});

/** `carry-on` with the honest work, end with a status, or return a text of its own. */
export type Misdeed =
  | { readonly kind: 'carry-on' }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'instead'; readonly text: string };

const CARRY_ON: Misdeed = { kind: 'carry-on' };

const oddity = async (assignment: Assignment, what: Oddity): Promise<Misdeed> => {
  if (what === 'hang' || what === 'hang-ignoring-term') return hang(what === 'hang-ignoring-term');
  if (what === 'no-return') return CARRY_ON;
  return { kind: 'instead', text: returnText(counterfeit(assignment, what)) };
};

/** Performs an action before the honest work. A signal or a hang does not return. */
export const misbehave = async (assignment: Assignment, action: MisbehaveAction): Promise<Misdeed> => {
  process.stdout.write(`misbehaving on purpose: ${action.kind === 'do' ? action.what : action.kind}\n`);
  switch (action.kind) {
    case 'exit':
      return { kind: 'exit', code: action.code };
    case 'signal':
      process.kill(process.pid, action.signal);
      return hang(false);
    case 'print':
      await print(action.bytes);
      return CARRY_ON;
    case 'write':
      writeAnywhere(assignment, action.path, action.text);
      return CARRY_ON;
    case 'return':
      return CARRY_ON;
    case 'do':
      return oddity(assignment, action.what);
  }
};

/** The bytes to return after the honest work: `undefined` for none. */
export const returnBytes = (returned: Returned, actions: readonly MisbehaveAction[]): string | undefined => {
  if (actions.some((action) => action.kind === 'do' && action.what === 'no-return')) return undefined;
  const forged = actions.find((action) => action.kind === 'return');
  return forged?.kind === 'return' ? forged.text : returnText(returned);
};
