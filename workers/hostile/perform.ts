import {
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { forgeChild, forgeLine, plantReturn, poison } from './forge.js';
import { git } from './git.js';
import { confined } from './guard.js';
import { leave, runApprove, waitForLate } from './late.js';
import { look } from './look.js';
import { filled, log, type Scene } from './scene.js';
import type { Step } from './steps.js';

type Part<Name extends Step['do']> = Extract<Step, { readonly do: Name }>;

type Table = {
  readonly [Name in Step['do']]: (scene: Scene, step: Part<Name>) => string;
};

/** Never through a link: what it leads to is not what was asked for. */
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;

const place = (scene: Scene, path: string): string => confined(scene.orders, filled(scene, path));

const write = (scene: Scene, { path, text, append }: Part<'write'>): string => {
  const file = place(scene, path);
  mkdirSync(dirname(file), { recursive: true });
  const fd = openSync(file, WRITE | (append === true ? constants.O_APPEND : constants.O_TRUNC), 0o644);
  try {
    appendFileSync(fd, filled(scene, text));
  } finally {
    closeSync(fd);
  }
  return `wrote ${file}`;
};

const replaceObject = (scene: Scene, { path }: Part<'replace-object'>): string => {
  const old = git(scene, ['rev-parse', `HEAD:${path}`]).trim();
  const now = git(scene, ['hash-object', '-w', path]).trim();
  git(scene, ['replace', old, now]);
  return `${old} is shown as ${now}`;
};

const stageGhost = (scene: Scene, { path, text }: Part<'stage-ghost'>): string => {
  const id = git(scene, ['hash-object', '-w', '--stdin'], { input: text }).trim();
  git(scene, ['update-index', '--add', '--cacheinfo', `100644,${id},${path}`]);
  return `${path} is in the index only`;
};

const poisonStore = (scene: Scene, { path, text, lie }: Part<'poison'>): string => {
  writeFileSync(place(scene, join('{tree}', path)), text);
  return poison(scene, text, lie);
};

const approve = (scene: Scene, { row, as, ...asked }: Part<'approve'>): string => {
  if (as === 'orphan') {
    const late = { do: 'approve', ticket: asked.ticket, target: asked.target } as const;
    const left = leave(scene, row, { hidden: true, late });
    return `${left}: ${waitForLate(scene, 'approved')}`;
  }
  const env = { ...process.env };
  if (as === 'unmarked') delete env['ORCHESTRATE_CHILD'];
  return runApprove(scene, asked, env).said;
};

interface Pipeline {
  readonly targets: Record<string, { needs: readonly string[] }>;
}

const editPipeline = (scene: Scene, { target }: Part<'edit-pipeline'>): string => {
  const path = place(scene, '{repo}/targets.yaml');
  const pipeline = JSON.parse(readFileSync(path, 'utf8')) as Pipeline;
  const gone = pipeline.targets[target];
  if (gone === undefined) throw new Error(`no target ${target}`);
  delete pipeline.targets[target];
  for (const other of Object.values(pipeline.targets))
    other.needs = other.needs.flatMap((need) => (need === target ? gone.needs : [need]));
  writeFileSync(path, JSON.stringify(pipeline));
  return `${target} is no target any more`;
};

const DEEDS: Table = {
  write,
  remove: (scene, { path }) => {
    rmSync(place(scene, path), { recursive: true });
    return `removed ${path}`;
  },
  move: (scene, { path, to }) => {
    renameSync(place(scene, path), place(scene, to));
    return `moved ${path}`;
  },
  link: (scene, { path, to }) => {
    symlinkSync(filled(scene, to), place(scene, path));
    return `${path} leads to ${to}`;
  },
  chmod: (scene, { path, mode }) => {
    chmodSync(place(scene, path), mode);
    return `mode of ${path}`;
  },
  fifo: (scene, { path }) => {
    execFileSync('mkfifo', [place(scene, path)], { stdio: 'pipe' });
    return `${path} is a fifo`;
  },
  git: (scene, { args, input }) => {
    git(
      scene,
      args.map((argument) => filled(scene, argument)),
      input === undefined ? {} : { input },
    );
    return `git ${args[0] ?? ''}`;
  },
  'replace-object': replaceObject,
  'stage-ghost': stageGhost,
  poison: poisonStore,
  approve,
  leave: (scene, { row, hidden, late }) => leave(scene, row, { hidden, late }),
  'wait-for-late': (scene) => waitForLate(scene, 'spoken'),
  look: (scene, { at, name }) => look(scene.orders, at, name),
  'forge-line': (scene, { ticket, event }) => forgeLine(scene, filled(scene, ticket), event),
  'forge-child': (scene, { child, as }) => forgeChild(scene, child, as),
  'plant-return': (scene, { child }) => plantReturn(scene, child),
  'edit-pipeline': editPipeline,
};

/** Performs steps in order and writes down of each whether it was done: one that fails stops none of the others. */
export const perform = (scene: Scene, steps: readonly Step[]): void => {
  for (const step of steps) {
    try {
      const deed = DEEDS[step.do] as (scene: Scene, step: Step) => string;
      log(scene, step.row, step.do, { outcome: 'done', detail: deed(scene, step) });
    } catch (error) {
      log(scene, step.row, step.do, { outcome: 'failed', detail: reasonOf(error) });
    }
  }
};

/** A child process says more on its standard error than in the error. */
const reasonOf = (error: unknown): string => {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  const message = error instanceof Error ? error.message : String(error);
  return (said === '' ? message : said).split('\n')[0] ?? '';
};
