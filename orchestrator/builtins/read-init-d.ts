import type { BuiltinEffect } from './result.js';
import { doneWith } from './result.js';

/**
 * Target 0. The reading itself – documents, chain, seals, live children, directives – happens at every boot, before any
 * target is looked at, and refuses there; the first time it is recorded as made.
 */
export const readInitD: BuiltinEffect = async (run) => {
  const { epoch, directivesRead } = run.recorder.run;
  return doneWith({ epoch }, [
    `state, journal chain and seals hold; ${directivesRead.length} directives read`,
  ]);
};
