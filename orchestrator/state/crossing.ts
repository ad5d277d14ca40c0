/**
 * The places at which a crash or a full disk would hurt, each crossed by name, so that a test can be there: killed, or
 * told that the write failed, at exactly the N-th. Without the two variables a crossing is one comparison.
 *
 *   ORCHESTRATE_TEST_CROSSING=N        SIGKILL to this process at the N-th crossing
 *   ORCHESTRATE_TEST_CROSSING=N:ENOSPC the N-th crossing throws that system error instead
 *   ORCHESTRATE_TEST_CROSSINGS=FILE    the names are appended to FILE, one a line
 */
import { appendFileSync } from 'node:fs';

const at = process.env['ORCHESTRATE_TEST_CROSSING'];
const trace = process.env['ORCHESTRATE_TEST_CROSSINGS'];
const isWatched = at !== undefined || trace !== undefined;
const [number, errorCode] = (at ?? '').split(':');
const stopAt = Number(number ?? Number.NaN);

let crossed = 0;

/** @throws a system error when a test asked for one here */
export const crossing = (name: string): void => {
  if (!isWatched) return;
  crossed += 1;
  if (trace !== undefined) appendFileSync(trace, `${name}\n`);
  if (crossed !== stopAt) return;
  if (errorCode === undefined) process.kill(process.pid, 'SIGKILL');
  else
    throw Object.assign(new Error(`${errorCode}: a test's fault, ${name}`), {
      code: errorCode,
      syscall: 'write',
    });
};
