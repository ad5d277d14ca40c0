import type { Trouble } from '../orchestrator/model/child.js';
import { troubleOf } from './trouble.js';

/** `401 invalid key`, as the client library writes it that most programs of this kind use; some put words of their own around it. */
const STATUS = /^(?:\[API Error: )?([45]\d\d)\b/;

/** What an error of a provider is called, by the status that it begins with where it does. */
export const providerTrouble = (message: string): Trouble => {
  const status = STATUS.exec(message)?.[1];
  return troubleOf({ message, ...(status === undefined ? {} : { status: Number(status) }) });
};
