import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { ORDERS_FILE, TOKEN_VARIABLE, type Orders } from './steps.js';

/** This program does harm on purpose; it ends rather than do any outside of its place. */
export class Refusal extends Error {}

const FOLDER = /^orchestrate-attack-/;

/**
 * The orders of an attack run.
 * @throws Refusal without the token of the run in the environment, or outside of a throw-away folder
 */
export const readOrders = (path: string | undefined, env: NodeJS.ProcessEnv, cwd: string): Orders => {
  const token = env[TOKEN_VARIABLE];
  if (path === undefined || !isAbsolute(path) || token === undefined || token.length < 32)
    throw new Refusal('the hostile worker of `orchestrate attack`: it is started by nothing else');
  const orders = JSON.parse(readFileSync(path, 'utf8')) as Orders;
  const isOurs = orders.token === token && path === join(orders.dir, ORDERS_FILE);
  const isThrowAway = orders.dir.split(sep).some((name) => FOLDER.test(name));
  if (!isOurs || !isThrowAway || !isBelow(cwd, orders.dir))
    throw new Refusal('these orders are not those of an attack run in this folder');
  return orders;
};

const isBelow = (path: string, folder: string): boolean =>
  realOfNearest(path).startsWith(`${realpathSync(folder)}${sep}`);

/** With links resolved as far as the path exists. */
const realOfNearest = (path: string): string => {
  const absolute = resolve(path);
  if (existsSync(absolute)) return realpathSync(absolute);
  const above = dirname(absolute);
  return above === absolute ? absolute : join(realOfNearest(above), basename(absolute));
};

/** @throws Refusal for a path that leads out of the throw-away folder */
export const confined = (orders: Orders, path: string): string => {
  const folder = realOfNearest(dirname(resolve(path)));
  if (`${folder}${sep}`.startsWith(`${realpathSync(orders.dir)}${sep}`)) return resolve(path);
  throw new Refusal(`\`${path}\` is outside of the throw-away folder`);
};
