import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Length of object ids in hexadecimal digits: 40 and 64. */
export type ObjectFormat = 'sha1' | 'sha256';

/**
 * Neutral attributes: bytes go in and out as they are, and every file has a textual diff. It outranks any
 * `.gitattributes` of the tree.
 *
 * `diff` comes first on purpose. It is the only attribute here that is set rather than unset, and git expands a set
 * attribute as a macro if the tree defines one of that name (`[attr]diff text eol=crlf`); items are applied from the last
 * to the first, so by then all others are decided. With `diff` last, that macro switched line ending conversion back on.
 */
export const NEUTRAL_ATTRIBUTES = '* diff -text -filter -ident -working-tree-encoding -crlf -eol\n';

interface GitDirLayout {
  readonly path: string;
  readonly format: ObjectFormat;
  /** Full name of the ref that HEAD stands for; it need not exist. */
  readonly head: string;
  /** More lines of configuration. */
  readonly config: string;
  readonly bare: boolean;
  /** Text of `info/attributes`. Default: neutral. */
  readonly attributes?: string;
}

/** Format of the objects in a repository. Only its own file counts for git, without includes. */
export const objectFormatOf = (gitDir: string): ObjectFormat => {
  const text = readFileSync(join(gitDir, 'config'), 'utf8');
  const section = /^\s*\[extensions\]([^[]*)/im.exec(text)?.[1] ?? '';
  return /^\s*objectformat\s*=\s*"?sha256"?\s*$/im.test(section) ? 'sha256' : 'sha1';
};

export const configText = ({
  format,
  config,
  bare,
}: Pick<GitDirLayout, 'format' | 'config' | 'bare'>): string =>
  [
    '[core]',
    `\trepositoryformatversion = ${format === 'sha1' ? 0 : 1}`,
    '\tfilemode = true',
    `\tbare = ${String(bare)}`,
    ...(format === 'sha1' ? [] : ['[extensions]', '\tobjectFormat = sha256']),
    '[gc]',
    '\tauto = 0',
    '[maintenance]',
    '\tauto = false',
    config,
  ].join('\n');

/**
 * Makes a git directory by hand: no process, no template, no hooks, no remote, no alternates.
 * Source: gitrepository-layout(5).
 */
export const makeGitDir = (layout: GitDirLayout): void => {
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'info']) {
    mkdirSync(join(layout.path, folder), { recursive: true });
  }
  writeFileSync(join(layout.path, 'HEAD'), `ref: ${layout.head}\n`);
  writeFileSync(join(layout.path, 'config'), configText(layout));
  writeFileSync(join(layout.path, 'info', 'attributes'), layout.attributes ?? NEUTRAL_ATTRIBUTES);
  writeFileSync(join(layout.path, 'info', 'exclude'), '');
};

/** A value for a git configuration file. Source: git-config(1), "Syntax". */
export const quoteConfigValue = (value: string): string =>
  `"${value.replaceAll(/[\\"]/g, '\\$&').replaceAll('\n', String.raw`\n`)}"`;

/** Rules of git-check-ref-format(1) for `refs/heads/NAME`, and no name that looks like an option. */
export const isBranchName = (name: string): boolean =>
  name.length > 0 &&
  name.length <= 200 &&
  name !== 'HEAD' &&
  // oxlint-disable-next-line no-control-regex
  !/[\u0000-\u0020\u007F~^:?*[\\]|\.\.|@\{|^-|\/\/|^\/|\/$|\.$/.test(name) &&
  name !== '@' &&
  name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
