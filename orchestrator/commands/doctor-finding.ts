import { oneLine } from '../model/text.js';

/** The version in what a program says of itself. */
export const versionIn = (text: string): string =>
  oneLine(/\d+\.\d+[.\w-]*/.exec(text)?.[0] ?? 'unknown version', 40);

/** One line of what the doctor sees. */
export interface Finding {
  readonly name: string;
  /** `missing`: not there, and nothing that must be. `note`: it works, and could be better. */
  readonly state: 'ok' | 'problem' | 'missing' | 'note';
  readonly detail: string;
  readonly fix?: string;
  readonly version?: string;
  readonly program?: string;
}
