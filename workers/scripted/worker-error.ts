/** Something that the author of a script or the caller can mend: printed as one message, exit status 1. */
export class WorkerError extends Error {}
