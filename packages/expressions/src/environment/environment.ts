import type { Type } from '../check/type.ts';

/** What an expression may use besides what every expression may. */
export interface Environment {
  /** By name, which may have dots: `authorizer.requestResource` is a variable of its own. */
  readonly variables: Readonly<Record<string, Type>>;
  /** Whether it may make `Object{…}` and `JSONPatch{…}`. */
  readonly hasPatchTypes?: boolean;
  /** Whether its errors may name keys that it has computed. Claims of a token are not to be shown. */
  readonly showsValues?: boolean;
}
