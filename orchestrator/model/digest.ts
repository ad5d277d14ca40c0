import { createHash } from 'node:crypto';

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = `sha256:${string}`;

export const digestOf = (bytes: string | Uint8Array): Digest =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Digest of a value: keys sorted at every depth, `undefined` left out, so that equal data has equal digests. */
export const digestOfValue = (value: unknown): Digest => digestOf(canonicalJson(value));

export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
    return `{${entries.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
};

const DIGEST = /^sha256:[0-9a-f]{64}$/;

export const isDigest = (text: string): text is Digest => DIGEST.test(text);
