import type { Failure } from '../model/failure.js';

/** Words that a shell takes as they are. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

const shellWord = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** ` -C DIR` for each, as a shell reads them; git and make understand it as well. */
export const folderOptions = (directories: readonly string[]): string =>
  directories.map((directory) => ` -C ${shellWord(directory)}`).join('');

/** A command at the beginning of a line or of a quotation; in running prose the name of the product stays as it is. */
const COMMAND = /(^[ ]*|`)orchestrate (?=[a-z])/gm;

/** The commands in a text as a person must type them where he stands: with the folders of the `-C` that he gave. */
export const fromHere = (directories: readonly string[], text: string): string => {
  const options = folderOptions(directories);
  return options === '' ? text : text.replaceAll(COMMAND, (command) => `${command.trimEnd()}${options} `);
};

export const failureFromHere = (directories: readonly string[], failure: Failure): Failure =>
  failure.next === undefined ? failure : { ...failure, next: fromHere(directories, failure.next) };
