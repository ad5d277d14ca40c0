/** Characters that no ref may contain. Source: git-check-ref-format(1), rules 4, 5 and 10. */
const FORBIDDEN = /[\u0000-\u0020\u007f~^:?*[\\]/;

const isComponent = (part: string): boolean =>
  part !== '' && !part.startsWith('.') && !part.endsWith('.lock');

/**
 * Whether git accepts the text as a branch name. Source: git-check-ref-format(1); `-` in front is refused because
 * commands would read it as an option.
 */
export const isBranchName = (text: string): boolean =>
  text !== 'HEAD' &&
  text !== '@' &&
  !text.startsWith('-') &&
  !text.endsWith('.') &&
  !text.includes('..') &&
  !text.includes('@{') &&
  !FORBIDDEN.test(text) &&
  text.split('/').every(isComponent);

/** Whether a path with `/` is relative and names something inside the folder that it starts from. */
export const staysInside = (path: string): boolean => {
  if (path === '' || path.startsWith('/') || path.includes('\u0000') || /^[A-Za-z]:[\\/]/.test(path))
    return false;
  return !path.split(/[\\/]/).includes('..');
};
