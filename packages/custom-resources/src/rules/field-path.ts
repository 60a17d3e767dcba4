/**
 * The names in the `fieldPath` of a rule: `.a.b`, `.m['k'].c`, `['x.y/z']`. Undefined for a text that is no such path; there
 * are no indexes of lists.
 */
export function readFieldPath(text: string): readonly string[] | undefined {
  const names: string[] = [];
  const part = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/gsy;
  while (part.lastIndex < text.length) {
    const [, field, quoted] = part.exec(text) ?? [];
    const name = field ?? (quoted === undefined ? undefined : unescape(quoted));
    if (name === undefined) return undefined;
    names.push(name);
  }
  return names;
}

const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', "'": "'", '\\': '\\' }),
);

/** Undefined if an escape is unknown. */
function unescape(quoted: string): string | undefined {
  let isKnown = true;
  const text = quoted.replaceAll(/\\(.)/gs, (_, letter: string) => {
    isKnown &&= escapes.has(letter);
    return escapes.get(letter) ?? '';
  });
  return isKnown ? text : undefined;
}
