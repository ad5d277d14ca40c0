/** Numbers that are promises. Each is tested at its edge. */

/** Lines that a parent keeps of a child. Source: DESIGN section 4, REQUIREMENTS C3. */
export const SUMMARY_LINES = 15;
/** Characters of one summary line (code points). */
export const SUMMARY_LINE_CHARACTERS = 200;
/** Bytes of a whole summary in UTF-8: 15 lines of 200 characters at two bytes each. */
export const SUMMARY_BYTES = 6_000;
/** Lines of a log that a watchdog or `logs` reads by default. REQUIREMENTS D4. */
export const TAIL_LINES = 15;
/** Kernel and manual of one worker together, in bytes. REQUIREMENTS C8. */
export const RESIDENT_BYTES = 42_000;
/** The largest single thing handed to a worker in one piece, in bytes; what is larger is paged. REQUIREMENTS C9. */
export const PAGE_BYTES = 46_080;
/** Agent forks of one ticket on its happy path above which `validate` warns. REQUIREMENTS C5. */
export const COARSE_WORKERS = 4;
/** Critic rounds before the run stops for a person. REQUIREMENTS E7. */
export const DEFAULT_ROUNDS = 5;
/** Estimated tokens of the five state documents. REQUIREMENTS A9. */
export const STATE_TOKENS = 1_800;
/** Equal failure signatures in a row that stop a run. DESIGN section 4. */
export const CIRCUIT_BREAKER = 3;
/** Largest return file that is read, in bytes. */
export const RETURN_BYTES = 262_144;
