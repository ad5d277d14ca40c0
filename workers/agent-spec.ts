import type { WorkerSpec } from '../orchestrator/model/pipeline.js';

/** What can be wrong with the spec of any agent: one sentence each, with what to do about it. */
export const agentProblems = (spec: WorkerSpec): readonly string[] => {
  const problems: string[] = [];
  if (spec.command.length > 0) {
    problems.push(
      `worker \`${spec.name}\` is started by the adapter \`${spec.adapter}\` and takes no \`command\`; put further arguments into \`args\`, or use \`adapter: command\``,
    );
  }
  if (spec.model?.trim() === '') {
    problems.push(`\`model\` of worker \`${spec.name}\` is empty; name one, or remove the key`);
  }
  const texts = [...spec.args, spec.model ?? ''];
  if (texts.some((text) => text.includes('\0'))) {
    problems.push(`\`args\` or \`model\` of worker \`${spec.name}\` contain a NUL character; remove it`);
  }
  if (spec.model?.startsWith('-') === true) {
    problems.push(`\`model\` of worker \`${spec.name}\` begins with \`-\`; write options into \`args\``);
  }
  return problems;
};

/** An option with its value when there is one. */
export const option = (name: string, value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [name, String(value)];
