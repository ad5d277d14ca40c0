import type { Piece } from '../helpers/mutant.js';

export interface Twin {
  readonly name: string;
  /** Exactly one piece where one layer stops the attack; more where several do. */
  readonly pieces: readonly Piece[];
  readonly rows: readonly string[];
  /** Where the workers run. Default: without a sandbox. */
  readonly tier?: 'sandbox';
  readonly pipeline?: 'planned' | 'checked';
}

/** @param file below `orchestrator/` */
export const piece = (file: string, old: string, by: string): Piece => ({
  file: `orchestrator/${file}`,
  old,
  new: by,
});
