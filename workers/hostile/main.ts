import { renameSync, writeFileSync } from 'node:fs';
import { returnText, type Returned } from '../scripted/returned.js';
import { answerOf } from './answer.js';
import { readOrders, Refusal } from './guard.js';
import { workHonestly } from './honest.js';
import { liveOn, type LateOrders } from './late.js';
import { perform } from './perform.js';
import { log, sceneOf, type Scene } from './scene.js';
import type { Act, Forgery } from './steps.js';
import type { Assignment } from '../scripted/assignment.js';

const readPrompt = async (): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
};

const giveBack = ({ returnPath }: Assignment, text: string): void => {
  if (returnPath === '-') {
    process.stdout.write(`${text}\n`);
    return;
  }
  writeFileSync(`${returnPath}.part`, `${text}\n`);
  renameSync(`${returnPath}.part`, returnPath);
};

const onOneLine = (returned: Returned): string => JSON.stringify(JSON.parse(returnText(returned)));

const actOf = ({ orders }: Scene, { ticket, target, attempt }: Assignment): Act =>
  orders.acts[ticket]?.[target]?.[attempt - 1] ?? {};

/** @returns the exit status */
const play = async (path: string): Promise<number> => {
  const orders = readOrders(path, process.env, process.cwd());
  const told = process.argv[3];
  if (told === undefined) return act(sceneOf(orders, path, await readPrompt()));
  const late = JSON.parse(told) as LateOrders;
  liveOn({ orders, ordersPath: path, ...late.scene }, late);
  return 0;
};

const act = (scene: Scene & { readonly assignment: Assignment }): number => {
  const { assignment, orders } = scene;
  const { before = [], after = [], idle = false, status, forgery } = actOf(scene, assignment);
  perform(scene, before);
  const returned = idle ? undefined : workHonestly(assignment, orders);
  perform(scene, after);
  if (forgery !== undefined) return forge(scene, assignment, forgery);
  if (assignment.makes === 'review')
    log(scene, '', 'review', { outcome: 'done', detail: returned?.verdict?.verdict ?? 'none' });
  const answer = status === undefined ? returned : { status, summary: ['it gives up'] };
  if (answer !== undefined) giveBack(assignment, onOneLine(answer));
  return 0;
};

const forge = (scene: Scene, assignment: Assignment, forgery: Forgery): number => {
  const text = answerOf(scene, assignment, forgery);
  if (text !== undefined) giveBack(assignment, text);
  const { row, exit = 0, signal } = forgery;
  log(scene, row, 'answer', { outcome: 'done', detail: text === undefined ? 'nothing' : text.slice(0, 400) });
  if (signal !== undefined) process.kill(process.pid, signal);
  return exit;
};

play(process.argv[2] ?? '').then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`hostile worker: ${error instanceof Refusal ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
