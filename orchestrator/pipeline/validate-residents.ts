import { COARSE_WORKERS, RESIDENT_BYTES } from '../model/limits.js';
import { describePath, listNames, type Finding, type Path } from './problems.js';
import type { Draft } from './resolve.js';
import type { Scene } from './scene.js';

/** Share of the resident bytes above which a person should know. */
const WARN_SHARE = 0.8;

const bytesOf = (scene: Scene, path: string | undefined): number => {
  const read = path === undefined ? undefined : scene.manuals.get(path);
  return read?.ok === true ? read.ref.bytes : 0;
};

const fileFinding = (scene: Scene, file: string | undefined, path: Path): readonly Finding[] => {
  const read = file === undefined ? undefined : scene.manuals.get(file);
  if (read === undefined || read.ok) return [];
  return [{ path, message: `\`${describePath(path)}\` ${read.reason}`, fix: read.fix }];
};

const residentBytes = (scene: Scene, draft: Draft): number =>
  bytesOf(scene, scene.resolved.settings.kernelPath) + bytesOf(scene, draft.manualPath);

const describeResident = (scene: Scene, draft: Draft): string => {
  const kernel = bytesOf(scene, scene.resolved.settings.kernelPath);
  const manual = bytesOf(scene, draft.manualPath);
  return `kernel and manual of \`${draft.origin}\` have ${kernel} + ${manual} = ${kernel + manual} of ${RESIDENT_BYTES} bytes`;
};

const isWorker = ({ recipe }: Draft): boolean => recipe.kind === 'worker';

const residentFinding = (scene: Scene, draft: Draft): readonly Finding[] => {
  const kernel = bytesOf(scene, scene.resolved.settings.kernelPath);
  if (!isWorker(draft) || draft.manualPath === undefined || kernel > RESIDENT_BYTES) return [];
  if (residentBytes(scene, draft) <= RESIDENT_BYTES) return [];
  return [
    {
      path: ['targets', draft.origin, 'manual'],
      message: `${describeResident(scene, draft)}, which is too many`,
      fix: 'shorten the kernel or the manual',
    },
  ];
};

/** Missing and oversized kernels and manuals. Bytes, not characters: what a worker is handed is bytes. */
export const manualFindings = (scene: Scene): readonly Finding[] => {
  const { kernelPath } = scene.resolved.settings;
  const kernel = bytesOf(scene, kernelPath);
  const large: readonly Finding[] =
    kernel <= RESIDENT_BYTES
      ? []
      : [
          {
            path: ['kernel'],
            message: `\`kernel\` has ${kernel} bytes, more than the ${RESIDENT_BYTES} that may be resident`,
            fix: 'shorten it',
          },
        ];
  return [
    ...fileFinding(scene, kernelPath, ['kernel']),
    ...large,
    ...scene.drafts.flatMap((draft) => [
      ...fileFinding(scene, draft.manualPath, ['targets', draft.origin, 'manual']),
      ...residentFinding(scene, draft),
    ]),
  ];
};

const forkWarning = (scene: Scene): readonly Finding[] => {
  const forks = scene.order.filter(isWorker);
  const next = forks[COARSE_WORKERS];
  if (next === undefined) return [];
  const message = `the happy path forks ${forks.length} workers: ${listNames(
    forks.map(({ name }) => name),
    8,
  )}`;
  return [
    {
      path: ['targets', next.origin, 'worker'],
      message,
      expected: `at most ${COARSE_WORKERS}, since every fork pays its cold start again`,
      fix: 'let one worker do more, or use `command` where no judgement is needed',
    },
  ];
};

const residentWarning = (scene: Scene, draft: Draft): readonly Finding[] => {
  const bytes = residentBytes(scene, draft);
  if (!isWorker(draft) || bytes <= RESIDENT_BYTES * WARN_SHARE || bytes > RESIDENT_BYTES) return [];
  const path = ['targets', draft.origin, 'manual'];
  return [
    { path, message: describeResident(scene, draft), fix: 'shorten one of them before it becomes an error' },
  ];
};

const openWarning = (scene: Scene, draft: Draft): readonly Finding[] => {
  const path = ['targets', draft.origin];
  if (draft.makes === 'review' && !draft.gates.some(({ kind }) => kind === 'verdict')) {
    const message = `\`${draft.origin}\` is a review without the gate \`verdict\`: a REJECTED stops nothing`;
    return [{ path: [...path, 'gates'], message, fix: 'add `verdict` to its gates' }];
  }
  const commits = draft.recipe.kind === 'builtin' && draft.recipe.builtin === 'commit';
  if (!commits || scene.upstream(draft, 'review')) return [];
  const message = `\`${draft.origin}\` commits what nobody has reviewed`;
  return [{ path: [...path, 'needs'], message, fix: 'add a target with `makes: review` before it' }];
};

const idleWorkers = (scene: Scene): readonly Finding[] => {
  const used = new Set(
    scene.drafts.flatMap(({ recipe }) => (recipe.kind === 'worker' ? [recipe.worker] : [])),
  );
  return Object.keys(scene.resolved.workers)
    .filter((name) => !used.has(name))
    .map((name) => ({
      path: ['workers', name],
      at: 'key' as const,
      message: `no target uses the worker \`${name}\``,
      fix: 'remove it, or set it to null when it comes from an extended file',
    }));
};

/** What works, but costs or risks more than it looks. */
export const warningFindings = (scene: Scene): readonly Finding[] => [
  ...forkWarning(scene),
  ...scene.drafts.flatMap((draft) =>
    draft.damaged ? [] : [...residentWarning(scene, draft), ...openWarning(scene, draft)],
  ),
  ...idleWorkers(scene),
];
