import { unescapeName } from './escaped-name.ts';
import { EntryMap } from './entry-map.ts';
import type { Value } from './value.ts';

/**
 * An object of JSON, whose properties may have names that cannot follow a dot. As in Kubernetes they are written in
 * words then: `claims.kubernetes__dot__io__slash__name`.
 */
export class JsonObject extends EntryMap {
  override select(key: Value): Value | undefined {
    const mayBeEscaped = typeof key === 'string' && key.length <= nameLengthMax && key.includes('__');
    return this.get(mayBeEscaped ? unescapeName(key) : key);
  }
}

/** Longer names mean themselves: a name can be made of a claim, and looking into it would take time. */
const nameLengthMax = 1000;
