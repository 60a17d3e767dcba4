export {
  MalformedTextError,
  type Parsed,
  parseDeepJsonSteps,
  parseJson,
  parseJsonSteps,
  type TextFault,
} from './json.ts';
export {
  boundsOfKind,
  type JsonBounds,
  type JsonScan,
  jsonValuesMax,
  NestedTooDeepError,
  nestingMax,
  scanJson,
  TooManyValuesError,
} from './json-scan.ts';
export { indentedJson } from './json-indented.ts';
export { jsonTexts, joinTexts } from './json-texts.ts';
export { findMemberText, parseInSteps } from './parse-in-steps.ts';
export * as jsonTokens from './json-tokens.ts';
export { isJsonObject, type JsonObject } from './json-object.ts';
export { sameJson } from './same-json.ts';
export {
  compareNumbers,
  formatNumber,
  increment,
  type Integer,
  integerOf,
  isRawNumber,
  numberOf,
  rawNumber,
} from './raw-number.ts';
