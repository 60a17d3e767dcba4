import { compile, type Expression, formatType, type Type, types } from '@cluster-apiserver/expressions';
import type { Problems } from '@cluster-apiserver/model';

const claims: Readonly<Record<string, Type>> = { claims: types.map(types.string, types.dyn) };
const user: Readonly<Record<string, Type>> = {
  user: types.object('kubernetes.UserInfo', {
    username: types.string,
    uid: types.string,
    groups: types.list(types.string),
    extra: types.map(types.string, types.list(types.string)),
  }),
};

type Compile = (text: string | undefined, at: Problems) => Expression | undefined;

export const compileClaimRule: Compile = (text, at) => compileText(text, at, claims, isBool, boolWanted);
export const compileUserRule: Compile = (text, at) => compileText(text, at, user, isBool, boolWanted);
/** For an expression that must evaluate to a string. */
export const compileClaimString: Compile = (text, at) =>
  compileText(text, at, claims, isString, 'must evaluate to a string');
/** For an expression that must evaluate to a string or a list of strings. */
export const compileClaimStrings: Compile = (text, at) =>
  compileText(text, at, claims, isStringOrList, 'must evaluate to a string or a list of strings');

// A claim has any type (`dyn`), so an expression that returns a claim must compare it: `claims.x == true`.
export const isBool = ({ kind }: Type): boolean => kind === 'bool';
export const boolWanted = 'must evaluate to bool';
const isString = ({ kind }: Type): boolean => kind === 'string' || kind === 'dyn';
const isStringOrList = (type: Type): boolean =>
  isString(type) || type.kind === 'null' || (type.kind === 'list' && isString(type.of));

/** Undefined for an empty text, and for one with problems, which are added. */
export function compileText(
  text: string | undefined,
  at: Problems,
  variables: Readonly<Record<string, Type>>,
  fits: (type: Type) => boolean,
  wanted: string,
): Expression | undefined {
  if (!text) return undefined;
  const compiled = compile(text, variables);
  if ('faults' in compiled) {
    for (const fault of compiled.faults) at.invalid(text, `compilation failed: ${fault}`);
    return undefined;
  }
  const { expression } = compiled;
  if (fits(expression.type)) return expression;
  at.invalid(text, `${wanted}, and this is of type ${formatType(expression.type)}`);
  return undefined;
}
