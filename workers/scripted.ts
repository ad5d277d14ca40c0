import type { Worker } from './worker.js';

/** The bundled program that performs a written script, relative to the root of the package. */
const PROGRAM = 'dist/scripted-worker.cjs';

/** The embedded default: a separate process like any other worker, but it follows a script instead of a model. */
export const scriptedWorker: Worker = {
  name: 'scripted',
  label: 'scripted worker, not a model',
  problems: (spec) => [
    ...(spec.command.length > 0
      ? [
          `worker \`${spec.name}\` is scripted and takes no \`command\`; remove it, or use \`adapter: command\``,
        ]
      : []),
    ...(spec.model !== undefined
      ? [`worker \`${spec.name}\` is scripted and has no \`model\`; remove it, or use \`adapter: command\``]
      : []),
  ],
  invocation: ({ spec, packageRoot, nodePath }) => ({
    argv: [nodePath, `${packageRoot}/${PROGRAM}`],
    env: { ...spec.env },
    agentKeys: false,
  }),
};
