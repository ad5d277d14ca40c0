/**
 * Ending a child whole: TERM, grace, KILL, then look again and say what is left.
 *
 * S1  A signal goes to a pid only right after its start time was compared; to a group only while its leader is the one we know.
 * S2  Nothing is found by name or age: members are of the leader's session or group, carry the child's marker, descend from such a
 *     process, or were seen to at an earlier look. Every agent starts its shell tool in a new session (agent-clis.md 0.4).
 * S3  The reaper is killed last, so that it can still record the end.
 * S4  A sandbox is asked to end inside; it ends when its program does.
 */
import type { ProcessIdentity } from '../model/child.js';
import { bootId, liveness } from '../state/identity.js';
import type { ProcessStat } from '../state/identity.js';
import { identityOfRow, listProcesses, markedProcesses } from './process-table.js';
import { sandboxHolders } from './sandbox-processes.js';

export interface Session {
  /** The reaper, or whoever leads the session. */
  readonly leader: ProcessIdentity;
  /** Value of `ORCHESTRATE_CHILD` in the environment of everything that the child starts. */
  readonly marker?: string;
  /** Processes seen to belong to the session, by pid and start time; every look adds to it. */
  readonly known: Map<string, ProcessIdentity>;
  /**
   * The leader is, or was a moment ago, a child of this process, so its number cannot be another session's by now. Otherwise, once
   * it is gone, a process needs the marker to count.
   */
  readonly ours: boolean;
}

export interface StopReport {
  /** Processes that were there, the leader not counted, and are gone now. */
  readonly ended: number;
  /** What could not be ended. */
  readonly left: readonly ProcessIdentity[];
}

export const NOTHING_TO_STOP: StopReport = { ended: 0, left: [] };

/** How long the reaper may take to write down the end, and how often the whole is searched for new processes to kill. */
const RECORD_MS = 500;
const KILL_PASSES = 20;
const LONGEST_LOOK_MS = 100;

const keyOf = (identity: ProcessIdentity): string => `${identity.pid} ${identity.startTime}`;

const delay = async (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** All that started no earlier than the leader; start times are text on systems without procfs and are not compared there. */
const candidates = (leader: ProcessIdentity): readonly ProcessStat[] => {
  const since = Number(leader.startTime);
  return listProcesses().filter(
    (row) => row.pid !== process.pid && !(Number(row.startTime) < since) && row.pid > 1,
  );
};

const addDescendants = (members: Set<ProcessStat>, rows: readonly ProcessStat[]): void => {
  const children = new Map<number, ProcessStat[]>();
  for (const row of rows) children.set(row.ppid, [...(children.get(row.ppid) ?? []), row]);
  // A set that grows is walked to its new end.
  for (const member of members) {
    for (const child of children.get(member.pid) ?? []) members.add(child);
  }
};

/** Every living process of the child, the leader included. */
export const findMembers = (session: Session): readonly ProcessStat[] => {
  const { leader, marker, known, ours } = session;
  if (leader.bootId !== bootId()) return [];
  const rows = candidates(leader);
  const holder = rows.find((row) => row.pid === leader.pid);
  const isLeader = holder?.startTime === leader.startTime;
  const sessionIsTheirs = isLeader || (ours && holder === undefined);
  const inSession = (row: ProcessStat): boolean => row.sid === leader.pid || row.pgid === leader.pid;
  const members = new Set(
    rows.filter((row) => (sessionIsTheirs && inSession(row)) || known.has(keyOf(identityOfRow(row)))),
  );
  if (marker !== undefined) {
    const others = rows.filter((row) => !members.has(row));
    for (const row of markedProcesses(others, marker)) members.add(row);
  }
  addDescendants(members, rows);
  for (const row of members) known.set(keyOf(identityOfRow(row)), identityOfRow(row));
  return [...members];
};

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone, or not ours to signal: the look afterwards says which.
  }
};

const signalOne = (identity: ProcessIdentity, signal: NodeJS.Signals): void => {
  if (liveness(identity) === 'alive') send(identity.pid, signal);
};

/**
 * TERM, and CONT in case it was stopped: a stopped process takes no TERM. The group at once, so that no fork slips through; around a
 * sandbox, whose end nothing inside survives, each process but the one that holds it (S4).
 */
const terminate = (session: Session, members: readonly ProcessStat[]): void => {
  const { leader } = session;
  const isAlive = liveness(leader) === 'alive';
  const holders = sandboxHolders(members);
  const signalAll = (signal: NodeJS.Signals, asGroup: boolean, rows: readonly ProcessStat[]): void => {
    if (asGroup) send(-leader.pid, signal);
    for (const row of rows) {
      if (!asGroup || row.pgid !== leader.pid) signalOne(identityOfRow(row), signal);
    }
  };
  const asked = members.filter(({ pid }) => !holders.has(pid));
  signalAll('SIGTERM', isAlive && holders.size === 0, asked);
  signalAll('SIGCONT', isAlive, members);
};

/** Waits for processes that are not our children, of whose end nobody tells us: looks at their pids, ever less often. */
const allGone = async (identities: readonly ProcessIdentity[], ms: number): Promise<boolean> => {
  const deadline = performance.now() + ms;
  let pause = 1;
  while (identities.some((identity) => liveness(identity) !== 'dead')) {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    await delay(Math.min(pause, left));
    pause = Math.min(pause * 2, LONGEST_LOOK_MS);
  }
  return true;
};

type Look = () => readonly ProcessStat[];

/** TERM to what is there and to what appears meanwhile, until nothing is left or the grace is over. */
const askToEnd = async (session: Session, look: Look, graceMs: number): Promise<boolean> => {
  const deadline = performance.now() + graceMs;
  const asked = new Set<string>();
  for (;;) {
    const members = look();
    if (members.length === 0) return true;
    const fresh = members.filter((row) => !asked.has(keyOf(identityOfRow(row))));
    terminate(asked.size === 0 ? session : { ...session, leader: NOBODY }, fresh);
    for (const row of fresh) asked.add(keyOf(identityOfRow(row)));
    if (!(await allGone(members.map(identityOfRow), deadline - performance.now()))) return false;
  }
};

/** Stands for the leader once its group was signalled: the same process is not asked twice. */
const NOBODY: ProcessIdentity = { pid: 0, startTime: '', bootId: '' };

const killAll = async (leader: ProcessIdentity, look: Look): Promise<void> => {
  for (let pass = 0; pass < KILL_PASSES; pass += 1) {
    const others = look().filter((row) => row.pid !== leader.pid);
    if (others.length === 0) break;
    for (const row of others) signalOne(identityOfRow(row), 'SIGKILL');
    await allGone(others.map(identityOfRow), LONGEST_LOOK_MS);
  }
  signalOne(leader, 'SIGCONT');
  if (await allGone([leader], RECORD_MS)) return;
  signalOne(leader, 'SIGKILL');
  await allGone([leader], RECORD_MS);
};

/**
 * Ends every process of a child. Never rejects; what could not be ended is in the report.
 * @param graceMs between TERM and KILL
 */
export const endSession = async (session: Session, graceMs: number): Promise<StopReport> => {
  const seen = new Set<string>();
  const look = (): readonly ProcessStat[] => {
    const members = findMembers(session);
    for (const row of members) if (row.pid !== session.leader.pid) seen.add(keyOf(identityOfRow(row)));
    return members;
  };
  if (await askToEnd(session, look, graceMs)) return { ended: seen.size, left: [] };
  await killAll(session.leader, look);
  const left = look().map(identityOfRow);
  return { ended: seen.size - left.filter(({ pid }) => pid !== session.leader.pid).length, left };
};

/** Whether the group has a member, be it a zombie. One system call: all that a plain command is asked after its end. */
export const groupExists = (leader: ProcessIdentity): boolean => {
  try {
    process.kill(-leader.pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
};
