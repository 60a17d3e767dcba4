const words = new Map(Object.entries({ dot: '.', slash: '/', dash: '-', underscores: '__' }));
const symbols = new Map([...words].map(([word, symbol]) => [symbol, word]));
/** Words of the language, which cannot be names. */
export const reservedWords: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Names that cannot follow a dot are written in words. A name with a word that is none of these means itself. */
export function unescapeName(name: string): string {
  const [, keyword = ''] = /^__([a-z]+)__$/.exec(name) ?? [];
  if (reservedWords.has(keyword)) return keyword;
  let isEscaped = true;
  const plain = name.replaceAll(/__([^_]+)__/g, (_, word: string) => {
    isEscaped &&= words.has(word);
    return words.get(word) ?? '';
  });
  return isEscaped ? plain : name;
}

/** Undefined for a name that cannot be written so. */
export function escapeName(name: string): string | undefined {
  if (!/^[a-zA-Z_./-][\w./-]*$/.test(name)) return undefined;
  if (reservedWords.has(name)) return `__${name}__`;
  return name.replaceAll(/__|[./-]/g, (symbol) => `__${symbols.get(symbol)}__`);
}
