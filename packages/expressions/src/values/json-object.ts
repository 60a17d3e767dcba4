import { MapValue } from './map-value.ts';
import type { Value } from './value.ts';

/**
 * An object of JSON, whose properties may have names that cannot follow a dot. As in Kubernetes they are written in
 * words then: `claims.kubernetes__dot__io__slash__name`.
 */
export class JsonObject extends MapValue {
  override select(key: Value): Value | undefined {
    const mayBeEscaped = typeof key === 'string' && key.length <= nameLengthMax && key.includes('__');
    return this.get(mayBeEscaped ? unescape(key) : key);
  }
}

/** Longer names mean themselves: a name can be made of a claim, and looking into it would take time. */
const nameLengthMax = 1000;

const words = new Map(Object.entries({ dot: '.', slash: '/', dash: '-', underscores: '__' }));
const keywords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** A name with a word that is none of these means itself. */
function unescape(name: string): string {
  const [, keyword = ''] = /^__([a-z]+)__$/.exec(name) ?? [];
  if (keywords.has(keyword)) return keyword;
  let isEscaped = true;
  const plain = name.replaceAll(/__([^_]+)__/g, (_, word: string) => {
    isEscaped &&= words.has(word);
    return words.get(word) ?? '';
  });
  return isEscaped ? plain : name;
}
