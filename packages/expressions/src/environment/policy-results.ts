import { reservedWords } from '../values/escaped-name.ts';
import { types } from '../check/type.ts';
import { applyConfigurationType, jsonPatchType } from './patch-types.ts';

/** The required result types of policy expressions, for `compileTyped`. Variables may have any type. */
export const policyResults = {
  /** A validation or a match condition. */
  condition: [types.bool],
  message: [types.string],
  auditAnnotation: [types.string, types.null],
  applyConfiguration: [applyConfigurationType],
  jsonPatch: [types.list(jsonPatchType)],
} as const;

/** Whether a variable can be called so. */
export const isIdentifier = (name: string): boolean => /^[_a-zA-Z]\w*$/.test(name) && !reservedWords.has(name);
