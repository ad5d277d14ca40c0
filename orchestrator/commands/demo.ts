import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { prepareSample } from '../demo/sample.js';
import { folderOptions, fromHere } from './from-here.js';
import { printJson } from './io.js';
import { flagSet, flagText, type Session } from './session.js';

const TICKET = '320';

/** How a person in `cwd` names the folder. */
const shortPath = (cwd: string, path: string): string => {
  const short = relative(cwd, path);
  return short !== '' && !short.startsWith('..') ? short : path;
};

/** `demo`: makes the sample repository and, unless it is only to be prepared, ships ticket 320 there. */
export const demo = async (session: Session): Promise<number> => {
  const { io, cwd } = session;
  const dir = flagText(session, 'dir');
  const isPreparation = flagSet(session, 'prepare');
  const folder =
    dir === undefined ? join(mkdtempSync(join(tmpdir(), 'orchestrate-demo-')), 'pebble') : resolve(cwd, dir);
  // Nobody may be there to answer a plain demo; what is prepared for trying by hand asks a person.
  const approval = isPreparation || (io.stdinIsTty && io.stderrIsTty) ? 'person' : 'policy';
  const { repository, remote } = await prepareSample({ dir: folder, approval });
  if (isPreparation) return prepared(session, repository, remote);
  const say = session.request.json ? io.stderr : io.stdout;
  say(
    `A sample repository with a bare remote is at ${repository}\n` +
      'Every worker here is scripted: a process of its own that performs a written script, not a model.\n\n',
  );
  const { run } = await import('./run.js');
  const directories = [...session.request.directories, shortPath(cwd, repository)];
  const code = await run({
    ...session,
    cwd: repository,
    request: { ...session.request, directories, tickets: [TICKET], flags: {} },
  });
  const next =
    `  orchestrate status --ticket ${TICKET}     target by target\n` +
    `  orchestrate boot --ticket ${TICKET}       the state, 00 to 99: both critic rounds are in 30\n` +
    `  orchestrate graph --ticket ${TICKET}      the DAG\n` +
    `  orchestrate run --ticket ${TICKET}        again: nothing is left to do\n`;
  const git = `git${folderOptions(directories)}`;
  say(
    `\nLook next\n${fromHere(directories, next)}  ${git} fetch --quiet && ${git} log --oneline --graph origin/main\n`,
  );
  return code;
};

const prepared = ({ io, cwd, request }: Session, repository: string, remote: string): number => {
  if (request.json) {
    printJson(io, { repository, remote, tickets: ['320', '321'] });
    return 0;
  }
  const next = fromHere([...request.directories, shortPath(cwd, repository)], 'orchestrate run --ticket 320');
  io.stdout(
    `${repository} is ready: branch main, bare remote origin, tickets 320 and 321, a pipeline that asks you for approval\n` +
      `next: ${next}\n`,
  );
  return 0;
};
