/** Why there is no sandbox where the pipeline wants none. Nobody is warned of that. */
export const TURNED_OFF = 'the pipeline says `sandbox: off`';
