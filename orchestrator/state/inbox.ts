import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, type Digest } from '../model/digest.js';
import { Problem } from '../model/failure.js';
import { writeOnce } from './files.js';

/** An instruction from a person that arrives while a run is going on. */
export interface Directive {
  /** From 1, in the order told. */
  readonly id: number;
  readonly path: string;
  readonly text: string;
  readonly digest: Digest;
}

const NAME = /^([0-9]{4,15})\.md$/;

const fileName = (id: number): string => `${String(id).padStart(4, '0')}.md`;

/**
 * Writes a directive; it is on the disk when this returns, whatever happens next. Needs no lock.
 * Two people at the same moment get two numbers.
 */
export const writeDirective = (inbox: string, text: string): Directive => {
  mkdirSync(inbox, { recursive: true });
  for (let id = (directiveIds(inbox).at(-1) ?? 0) + 1; ; id += 1) {
    const path = join(inbox, fileName(id));
    if (existsSync(path)) continue;
    try {
      writeOnce(path, text, { sync: true });
      return { id, path, text, digest: digestOf(text) };
    } catch (error) {
      // Somebody took the number in between.
      if (!(error instanceof Problem) || error.failure.kind !== 'record-refused') throw error;
    }
  }
};

const directiveIds = (inbox: string): number[] =>
  existsSync(inbox)
    ? readdirSync(inbox)
        .map((name) => NAME.exec(name)?.[1])
        .filter((digits) => digits !== undefined)
        .filter((digits) => fileName(Number(digits)) === `${digits}.md`)
        .map(Number)
        .toSorted((a, b) => a - b)
    : [];

/** Directives above `after`, in the order told. Files with other names are left alone. */
export const readDirectives = (inbox: string, after = 0): Directive[] =>
  directiveIds(inbox)
    .filter((id) => id > after)
    .map((id) => {
      const path = join(inbox, fileName(id));
      const text = readFileSync(path, 'utf8');
      return { id, path, text, digest: digestOf(text) };
    });
