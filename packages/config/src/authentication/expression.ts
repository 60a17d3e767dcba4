import { compile, type Expression, formatType, type Type, types } from '@cluster-apiserver/expressions';
import type { ConfigNode } from '../config-node.ts';

const claims: Readonly<Record<string, Type>> = { claims: types.map(types.string, types.dyn) };
const user: Readonly<Record<string, Type>> = {
  user: types.object('kubernetes.UserInfo', {
    username: types.string,
    uid: types.string,
    groups: types.list(types.string),
    extra: types.map(types.string, types.list(types.string)),
  }),
};

export const compileClaimRule = (node: ConfigNode): Expression | undefined =>
  compileNode(node, claims, isBool, boolWanted);
export const compileUserRule = (node: ConfigNode): Expression | undefined =>
  compileNode(node, user, isBool, boolWanted);
/** For an expression that must evaluate to a string. */
export const compileClaimString = (node: ConfigNode): Expression | undefined =>
  compileNode(node, claims, isString, 'must evaluate to a string');
/** For an expression that must evaluate to a string or a list of strings. */
export const compileClaimStrings = (node: ConfigNode): Expression | undefined =>
  compileNode(node, claims, isStringOrList, 'must evaluate to a string or a list of strings');

// A claim has any type (`dyn`), so an expression that returns a claim must compare it: `claims.x == true`.
const isBool = ({ kind }: Type): boolean => kind === 'bool';
const boolWanted = 'must evaluate to bool';
const isString = ({ kind }: Type): boolean => kind === 'string' || kind === 'dyn';
const isStringOrList = (type: Type): boolean =>
  isString(type) || type.kind === 'null' || (type.kind === 'list' && isString(type.of));

/** Undefined if the node is absent, or if the expression has problems, which are added to the findings. */
function compileNode(
  node: ConfigNode,
  variables: Readonly<Record<string, Type>>,
  fits: (type: Type) => boolean,
  wanted: string,
): Expression | undefined {
  const text = node.string();
  if (text === undefined || text === '') return undefined;
  const compiled = compile(text, variables);
  if ('faults' in compiled) {
    for (const fault of compiled.faults) node.addInvalid(text, `compilation failed: ${fault}`);
    return undefined;
  }
  const { expression } = compiled;
  if (fits(expression.type)) return expression;
  node.addInvalid(text, `${wanted}, and this is of type ${formatType(expression.type)}`);
  return undefined;
}
