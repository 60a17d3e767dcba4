import { compile, type Expression, formatType, type Type, types } from '@cluster-apiserver/expressions';
import type { Written } from '../written.ts';

const claims: Readonly<Record<string, Type>> = { claims: types.map(types.string, types.dyn) };
const user: Readonly<Record<string, Type>> = {
  user: types.object('kubernetes.UserInfo', {
    username: types.string,
    uid: types.string,
    groups: types.list(types.string),
    extra: types.map(types.string, types.list(types.string)),
  }),
};

export const claimRule = (written: Written): Expression | undefined => read(written, claims, isBool, toBool);
export const userRule = (written: Written): Expression | undefined => read(written, user, isBool, toBool);
/** One text. */
export const claimText = (written: Written): Expression | undefined =>
  read(written, claims, isText, 'must evaluate to a string');
/** One text or several. */
export const claimTexts = (written: Written): Expression | undefined =>
  read(written, claims, isTexts, 'must evaluate to a string or a list of strings');

// A claim can be of any type, so an answer that is one unchanged is no bool yet: `== true` says what is meant.
const isBool = ({ kind }: Type): boolean => kind === 'bool';
const toBool = 'must evaluate to bool';
const isText = ({ kind }: Type): boolean => kind === 'string' || kind === 'dyn';
const isTexts = (type: Type): boolean =>
  isText(type) || type.kind === 'null' || (type.kind === 'list' && isText(type.of));

/** Undefined when nothing is written or it cannot work, which is then noted. */
function read(
  written: Written,
  variables: Readonly<Record<string, Type>>,
  fits: (type: Type) => boolean,
  wanted: string,
): Expression | undefined {
  const text = written.text();
  if (text === undefined || text === '') return undefined;
  const compiled = compile(text, variables);
  if ('faults' in compiled) {
    for (const fault of compiled.faults) written.invalid(text, `compilation failed: ${fault}`);
    return undefined;
  }
  const { expression } = compiled;
  if (fits(expression.type)) return expression;
  written.invalid(text, `${wanted}, and this is of type ${formatType(expression.type)}`);
  return undefined;
}
