/** One element and the text that stands in it, without that of the elements in it. */
export interface Element {
  readonly name: string;
  text: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Elements in the order in which they begin, each with its own text. @throws where a text is not well-formed XML */
export const readXml = (xml: string): Element[] => {
  const elements: Element[] = [];
  const open: Element[] = [];
  const token =
    /<([a-z]+)((?: [A-Za-z:-]+="[^"<>&]*")*)(\/?)>|<\/([a-z]+)>|((?:[^<>&\u0000-\u0008\u000B-\u001F\uD800-\uDFFF\uFFFE\uFFFF]|&(?:amp|lt|gt|quot|#39);)+)/uy;
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex;
    const match = token.exec(xml);
    if (match === null) throw new Error(`not XML: ${JSON.stringify(xml.slice(at, at + 60))}`);
    const [, name, , isEmpty, end, text] = match;
    const current = open.at(-1);
    if (name !== undefined) {
      const element = { name, text: '' };
      elements.push(element);
      if (isEmpty === '') open.push(element);
    } else if (end !== undefined) {
      if (open.pop()?.name !== end) throw new Error(`</${end}> ends nothing`);
    } else if (current !== undefined) {
      current.text += (text ?? '').replaceAll(/&([^;]+);/g, (_, entity: string) => ENTITIES[entity] ?? '');
    }
  }
  if (open.length > 0) throw new Error(`<${open.at(-1)?.name}> does not end`);
  return elements;
};
