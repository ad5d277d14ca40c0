let count = 0;

export const idOf = (prefix) => {
  count += 1;
  return `${prefix}_fake${String(count).padStart(6, '0')}`;
};

/** A text as a stream has it. */
export const pieces = (text) => text.match(/[\s\S]{1,40}/g) ?? [];
