import type { WorkerSpec } from '../orchestrator/model/pipeline.js';

/**
 * Arguments that would take from an adapter what it relies on: how the output is read, and that no session is continued.
 * @param reserved options by what to do instead
 */
export const reservedArguments = (
  spec: WorkerSpec,
  reserved: Readonly<Record<string, string>>,
): readonly string[] =>
  spec.args.flatMap((argument) => {
    const name = argument.split('=')[0] ?? '';
    const instead = Object.hasOwn(reserved, name) ? reserved[name] : undefined;
    return instead === undefined ? [] : [`\`${name}\` in \`args\` of worker \`${spec.name}\`: ${instead}`];
  });

export const READ_BY_US = 'the adapter sets it, because it reads the output; remove it';
export const NEW_SESSION = 'every attempt is a new session; remove it';
