import type { Type } from '../check/type.ts';

/** Variables and functions that an expression can use in addition to the common ones. */
export interface Environment {
  /** By name, which may have dots: `authorizer.requestResource` is a variable of its own. */
  readonly variables: Readonly<Record<string, Type>>;
  /** Whether it may make `Object{…}` and `JSONPatch{…}`. */
  readonly hasPatchTypes?: boolean;
  /** Whether its errors may name keys that it has computed. Claims of a token are not to be shown. */
  readonly showsValues?: boolean;
}
