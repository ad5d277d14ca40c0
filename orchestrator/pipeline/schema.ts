import * as z from 'zod';

import { AGENTS, BUILTINS } from '../model/pipeline.js';
import { DURATION } from './duration.js';

// The text given to a check is the phrase that a message puts after "expected": see `schema-issues.ts`.
// There are no transforms here, so that the JSON Schema for editors says the same as the loader.

/** Name of a target. Its children's folder, its argument on the command line and its anchor in messages. */
export const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const NAME_PHRASE = 'a name of 1 to 64 lower-case letters, digits and `-`, starting with a letter or digit';
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** No line break and no other control character: these texts become lines of prompts and of terminals. */
const ONE_LINE = /^[^\u0000-\u001f\u007f-\u009f]{1,200}$/;
/** `execve` takes no NUL, and no argument above 131,071 bytes. */
const ARGUMENT = /^[^\u0000]{0,30000}$/;

/** A path inside the repository, without globs. */
const INSIDE = /^(?!\/)(?!(?:.*\/)?\.\.?(?:\/|$))[^\u0000*?[\]{}]{1,4096}$/;

const name = z.string().regex(NAME, NAME_PHRASE);
const oneLine = z.string().regex(ONE_LINE, 'one line of 1 to 200 characters');
/** Whether there is such a target is said by `validate.ts`, with a suggestion. May hold `{each}`. */
const reference = z.string().regex(ONE_LINE, 'the name of a target');
const duration = z
  .string()
  .regex(DURATION, 'a duration such as `500ms`, `30s`, `10m` or `2h`')
  .describe('A number with the unit ms, s, m or h.');
const count = (least: number, most: number) => {
  const phrase = `a whole number from ${least} to ${most}`;
  return z.int(phrase).min(least, phrase).max(most, phrase);
};
const argument = z.string().regex(ARGUMENT, 'a text without NUL of at most 30,000 characters');
const program = z.string().regex(/^[^\u0000]*[^\s\u0000][^\u0000]*$/, 'a command that is not empty');
const argv = z.tuple([program], argument).describe('Program and arguments, run without a shell.');
const shell = program.max(30_000, 'at most 30,000 characters').describe('Run by /bin/sh -c.');
const run = z.union([shell, argv], { error: 'a command line, or a list of the program and its arguments' });
const path = z.string().regex(/^[^\u0000]{1,4096}$/, 'a path');
const paths = z.array(path);

export const limitsShape = {
  idle: duration.optional().describe('No new output for so long ends the child. Default 10m.'),
  timeout: duration.optional().describe('The whole run of a child. Default 1h.'),
  grace: duration.optional().describe('Time between TERM and KILL. Default 5s.'),
};
const limits = z.strictObject(limitsShape);

export const ticketsShape = {
  source: z.literal('file').optional().describe('Where tickets come from.'),
  path: path.optional().describe('File of a ticket, relative to the repository; contains {ticket}.'),
};

const SANDBOX_MODES = ['auto', 'required', 'off'] as const;
const onOff = z.enum(['on', 'off'], { error: '`on` or `off`' });
export const sandboxShape = {
  mode: z.enum(SANDBOX_MODES).optional().describe('Default auto.'),
  network: onOff.optional().describe('Default on.'),
  read: paths
    .optional()
    .describe('More paths that are visible inside: absolute, ~/…, or relative to the repository.'),
  write: paths.optional().describe('More paths that can be written inside.'),
};
const sandbox = z
  .union([z.enum(SANDBOX_MODES), z.strictObject(sandboxShape)], {
    error: '`auto`, `required`, `off` or `{ mode, network, read, write }`',
  })
  .describe('What the process can reach of the machine.');

export const budgetShape = {
  costUsd: z.number('a number of US dollars').positive('more than 0').optional(),
  tokens: count(1, 1_000_000_000_000).optional().describe('Input and output together.'),
};

export const workerShape = {
  adapter: z
    .enum(['command', 'scripted', 'auto', ...AGENTS])
    .optional()
    .describe('How the worker is started; `auto` takes the first agent that is installed and logged in.'),
  agents: z
    .array(z.enum(AGENTS))
    .min(1, 'at least one agent')
    .optional()
    .describe('For `auto`: only these, in this order; the next one when one is at its limit.'),
  unlike: name.optional().describe('For `auto`: a worker whose model family is avoided where possible.'),
  args: z.array(argument).optional().describe("Further arguments for the agent's program."),
  maxTurns: count(1, 100_000).optional().describe('Turns of the model after which the agent is ended.'),
  sandbox: sandbox.optional(),
  command: argv
    .optional()
    .describe('For `command`. {tree}, {out}, {prompt}, {return}, {ticket} and {target} are replaced.'),
  model: oneLine.optional().describe('Given to the agent; for `command` it replaces {model}.'),
  env: z
    .record(z.string().regex(VARIABLE, 'the name of an environment variable'), argument)
    .optional()
    .describe('Variables set for this worker only.'),
  label: oneLine.optional().describe('Shown wherever the worker is named.'),
};

export const policyShape = {
  paths: paths
    .min(1, 'at least one glob, otherwise nothing can pass')
    .describe('Globs that every path must match.'),
  maxFiles: count(1, 1_000_000),
  maxLines: count(1, 100_000_000).describe('Added plus removed lines.'),
};
export const approvalShape = { policy: z.strictObject(policyShape) };
export const checkShape = {
  name: oneLine.optional(),
  run,
  timeout: duration.optional(),
};
const approvalGateShape = {
  approval: z
    .union([z.literal('person'), z.strictObject(approvalShape)], { error: '`person` or `{ policy: … }`' })
    .describe('A person, or a declared policy that is recorded as a policy.'),
};
const checkGateShape = {
  check: z
    .union([shell, argv, z.strictObject(checkShape)], {
      error: 'a command line, a list, or `{ name, run, timeout }`',
    })
    .describe('Run by the orchestrator on a clean checkout; exit status 0 passes.'),
};
const SIMPLE_GATES = ['blast-radius', 'not-empty', 'verdict'] as const;

const gate = z.union(
  [z.enum(SIMPLE_GATES), z.strictObject(approvalGateShape), z.strictObject(checkGateShape)],
  {
    error: '`blast-radius`, `not-empty`, `verdict`, `approval: …` or `check: …`',
  },
);

export const whenShape = {
  labels: z
    .array(oneLine)
    .min(1, 'at least one label, otherwise the target never runs')
    .describe('The ticket has one of these labels.'),
};

export const targetShape = {
  number: count(0, 999_999).optional().describe('Default: the position in the file.'),
  needs: z.array(reference).optional().describe('Targets that come before this one.'),
  command: run.optional(),
  worker: z.string().optional().describe('Name of a worker.'),
  builtin: z.enum(BUILTINS).optional().describe('Work that the orchestrator does in process.'),
  makes: z
    .enum(['plan', 'diff', 'review', 'notes', 'files'])
    .optional()
    .describe('What comes back. Default files.'),
  access: z
    .enum(['none', 'read-only', 'write'])
    .optional()
    .describe('Default: write for diff and files, read-only for the rest.'),
  manual: path.optional().describe('Instructions of this phase, relative to this file.'),
  inputs: paths.optional().describe('Paths or globs whose bytes decide whether the target is out of date.'),
  outputs: paths.optional().describe('Paths that must exist afterwards.'),
  gates: z.array(gate).optional().describe('Asked in order; each must pass.'),
  onReject: reference.optional().describe('Target that is made again when this one is rejected.'),
  attempts: count(1, 1_000).optional().describe('Failed attempts of one round before the target fails.'),
  limits: limits.optional(),
  latch: z.boolean().optional().describe('Once done it is never made again.'),
  when: z.strictObject(whenShape).optional(),
  foreach: z
    .union([z.literal('pillars'), z.array(z.string())], { error: '`pillars` or a list' })
    .optional()
    .describe('One target an item, named NAME-ITEM; {each} is replaced in its texts.'),
};
export const targetSchema = z.strictObject(targetShape);
export const workerSchema = z.strictObject(workerShape);

export const fileShape = {
  version: z.literal(1).optional(),
  name: oneLine.optional().describe('Name of the pipeline.'),
  extends: path
    .optional()
    .describe('`builtin`, or a path relative to this file. Null drops a target or worker.'),
  tickets: z.strictObject(ticketsShape).optional(),
  remote: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/, 'the name of a git remote such as `origin`')
    .optional()
    .describe('Git remote that is pushed to. Default origin.'),
  base: z.string().optional().describe('Base branch. Default: the branch that is checked out.'),
  branch: z.string().optional().describe('Branch of a ticket; contains {ticket}.'),
  jobs: count(1, 1_024).optional().describe('Children at the same time. Default 4.'),
  rounds: count(1, 100).optional().describe('Critic rounds of one ticket. Default 5.'),
  attempts: count(1, 1_000).optional().describe('Default of the targets. Default 2.'),
  pillars: z.array(oneLine).optional().describe('What a review must answer, one finding or "none" each.'),
  kernel: path.optional().describe('Instructions of every worker, relative to this file.'),
  env: z
    .array(z.string().regex(VARIABLE, 'the name of an environment variable'))
    .optional()
    .describe('More variables that children may see.'),
  limits: limits.optional().describe('Defaults of the targets.'),
  sandbox: sandbox.optional(),
  ignored: z
    .array(z.string().regex(INSIDE, 'a relative path without `..`'))
    .optional()
    .describe(
      'Ignored files and folders of your checkout, such as node_modules, that trees and checks are given.',
    ),
  budget: z
    .strictObject(budgetShape)
    .optional()
    .describe('A run stops before its next fork when this is used up.'),
  workers: z.record(name, workerSchema.nullable()).optional(),
  targets: z.record(name, targetSchema.nullable()).optional(),
};
export const fileSchema = z.strictObject(fileShape);

export type RawFile = z.infer<typeof fileSchema>;
export type RawTarget = z.infer<typeof targetSchema>;
export type RawWorker = z.infer<typeof workerSchema>;
export type RawGate = z.infer<typeof gate>;
export type RawLimits = z.infer<typeof limits>;
export type RawSandbox = z.infer<typeof sandbox>;
export type RawRun = z.infer<typeof run>;

/** JSON Schema of one YAML file (draft 7: what editors understand), written to `targets.schema.json`. */
export const jsonSchema = (): Record<string, unknown> => ({
  ...z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-7' }),
  title: 'targets.yaml: a pipeline of orchestrate',
});
