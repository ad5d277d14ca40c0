import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAssignment, type Assignment } from '../scripted/assignment.js';
import { LOG_FILE, type Deed, type Deeds, type Orders } from './steps.js';

/** Where one hostile process is, and what it may do there. */
export interface Scene {
  readonly orders: Orders;
  readonly ordersPath: string;
  readonly ticket: string;
  readonly tree: string;
  readonly out: string;
  /** Absent for a process that was left behind. */
  readonly assignment?: Assignment;
}

export const sceneOf = (
  orders: Orders,
  ordersPath: string,
  prompt: string,
): Scene & { assignment: Assignment } => {
  const assignment = readAssignment(process.env, prompt);
  const { ticket, tree, out } = assignment;
  return { orders, ordersPath, ticket, tree, out, assignment };
};

export const runFolder = ({ orders, ticket }: Scene): string =>
  join(orders.places.repo, '.orchestrate', ticket);

/** `{tree}`, `{out}`, `{run}`, `{store}`, `{ticket}`, `{dir}` and the places of the orders. */
export const filled = (scene: Scene, text: string): string => {
  const { orders, tree, out, ticket } = scene;
  const values: Readonly<Record<string, string>> = {
    ...orders.places,
    tree,
    out,
    ticket,
    dir: orders.dir,
    run: runFolder(scene),
    store: join(orders.places.repo, '.orchestrate', 'store.git'),
  };
  return text.replaceAll(/\{([a-z]+)\}/g, (whole, name: string) => values[name] ?? whole);
};

/** What was done goes where the attack finds it afterwards, in every tier. */
export const log = (
  scene: Scene,
  row: string,
  deed: Deed['do'] | 'answer' | 'review' | 'late',
  facts: Pick<Deeds, 'outcome' | 'detail'>,
): void => {
  const line: Deeds = { row, do: deed, ...facts, at: Date.now() };
  appendFileSync(join(scene.out, LOG_FILE), `${JSON.stringify(line)}\n`);
};
