/**
 * Lets the event loop turn once: signals, limits and the ends of children are heard between two steps that take milliseconds each, such as
 * a fork, and not only when nothing is left to do.
 */
export const turn = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
