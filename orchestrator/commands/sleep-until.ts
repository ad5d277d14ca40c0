import type { Clock } from '../model/clock.js';

/** Longest single timer: a laptop that slept wakes within it and finds the wall clock moved on. */
const STEP_MS = 60_000;

/** Resolves when the wall clock has reached `time` (milliseconds since the epoch), or at once when `signal` aborts. */
export const sleepUntil = async (time: number, clock: Clock, signal: AbortSignal): Promise<void> => {
  for (let left = time - clock.now(); left > 0 && !signal.aborted; left = time - clock.now()) {
    const { promise, resolve } = withResolve();
    const timer = setTimeout(resolve, Math.min(left, STEP_MS));
    signal.addEventListener('abort', resolve, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', resolve);
  }
};

const withResolve = (): { readonly promise: Promise<void>; readonly resolve: () => void } => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};
