/**
 * The reaper: a few lines of POSIX shell that lead the child's session, so that the child outlives the orchestrator.
 *
 * R1  It claims the fork by creating `proc.json` exclusively. Without the claim it starts nothing, so one generation starts once,
 *     however many reapers were sent, however late.
 * R2  The command runs in the foreground on the files themselves: nothing flows through the orchestrator or the reaper.
 * R3  Signals for the session reach the command with their default effect; the reaper survives them and records the end.
 * R4  `exit.json` is created exclusively with one write that ends in a newline; without the newline it counts as absent.
 * R5  Its own exit status is the command's. A reaper that ends by a signal has no claim or was killed.
 *
 * The normal path uses builtins only: one process more than the bare command costs about 1 ms, a second program would double it.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { bootId } from '../state/identity.js';
import type { Job } from './child-folder.js';
import { noFurtherDescriptors } from './sandbox-descriptors.js';

const SHELL = '/bin/sh';

/**
 * $1 folder, $2 the rest of the claim as JSON members. Standard error moves to 3, so that the shell's own remarks ("Killed") do
 * not get into the log. Field 22 is the start time; field 2 is `(sh)` here, whatever runs later. Names start with `_o_` because
 * a shell hands changed variables on when the environment had them already. Without procfs `ps` is asked, as identity.ts does.
 */
const CLAIM = `trap : HUP INT QUIT TERM
exec 3>&2 2>/dev/null
_o_dir=$1
read -r ${'_o_ '.repeat(21)}_o_start _o_ </proc/$$/stat
[ -n "$_o_start" ] || _o_start=$(PATH=/bin:/usr/bin LC_ALL=C TZ=UTC0; export PATH LC_ALL TZ; set -f; set -- $(ps -o lstart= -p $$); printf %s "$*")
set -C
printf '{"pid":%d,"startTime":"%s",%s}\\n' $$ "\${_o_start:-unknown}" "$2" >"$1/proc.json" || kill -s KILL $$
set +C
`;

const RECORD = `_o_status=$?
set -C
printf '{"status":%d}\\n' $_o_status >"$_o_dir/exit.json"
exit $_o_status
`;

/** In a subshell, because dash redirects a bare command in the shell itself, whose remarks would then get into the log. */
const RUN_PROGRAM = `shift 2
( exec "$@" ) 2>&3 3>&-
`;

/** For \`sh -c TEXT\`: the reaper is that shell already, so its subshell saves a whole exec. */
const RUN_TEXT = `(
_o_text=$3
set --
eval "$_o_text"
) 2>&3 3>&-
`;

/** A shell exports PWD to what it starts; a child's environment is exactly what was asked for. */
const PROGRAM_SCRIPT = `${CLAIM}unset PWD OLDPWD SHLVL\n${RUN_PROGRAM}${RECORD}`;
const PROGRAM_SCRIPT_KEEPING_PWD = `${CLAIM}${RUN_PROGRAM}${RECORD}`;
const TEXT_SCRIPT = `${CLAIM}${RUN_TEXT}${RECORD}`;

/** What a subshell would answer differently from a shell of its own: its pid, its parent's pid, its traps. */
const NEEDS_OWN_SHELL = /\$\$|\$\{\$|\bPPID\b|\bBASHPID\b|\bSHLVL\b|\btrap\b/;

const isShellText = (argv: readonly string[]): boolean =>
  argv.length === 3 && argv[0] === SHELL && argv[1] === '-c' && !NEEDS_OWN_SHELL.test(argv[2] ?? '$$');

export interface ReaperRequest {
  /** The child's folder, absolute. It exists. */
  readonly dir: string;
  /** Goes into the claim. */
  readonly job: Job;
  /** The program is an absolute path: a bare name could be a builtin of the shell. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Surroundings {
  readonly cwd: string;
  /** File descriptors that the command gets; without `stdin` it reads an empty file. */
  readonly stdin?: number;
  /** `pipe` is a socket pair on Linux and macOS: its other end is `stdout` of the result. */
  readonly stdout: number | 'pipe';
  readonly stderr: number;
}

/** What the shell is called with. */
export const reaperArguments = ({ dir, job, argv, env }: ReaperRequest): readonly string[] => {
  const members = JSON.stringify({ bootId: bootId(), ...job }).slice(1, -1);
  if (isShellText(argv)) return ['-c', TEXT_SCRIPT, SHELL, dir, members, argv[2] ?? ''];
  const script = 'PWD' in env ? PROGRAM_SCRIPT_KEEPING_PWD : PROGRAM_SCRIPT;
  return ['-c', script, 'orchestrate', dir, members, ...argv];
};

/**
 * @returns the reaper, leader of its own session. `pid` is undefined if it could not be started; then `error` follows
 * @throws what `spawn` throws at once, e.g. E2BIG
 */
export const spawnReaper = (
  request: ReaperRequest,
  { cwd, stdin, stdout, stderr }: Surroundings,
): ChildProcess =>
  spawn(SHELL, [...reaperArguments(request)], {
    cwd,
    env: request.env,
    detached: true,
    // A plain command is the pipeline's own, and each of these costs it a system call.
    stdio: [stdin ?? 'ignore', stdout, stderr, ...(request.job.worker ? noFurtherDescriptors() : [])],
  });
