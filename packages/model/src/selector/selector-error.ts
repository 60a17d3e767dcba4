/** A selector that a client sent is invalid. */
export class SelectorSyntaxError extends Error {
  override readonly name = 'SelectorSyntaxError';
}

type Parameter = 'labelSelector' | 'fieldSelector' | 'shardSelector';

/** A watch keeps its selector. Keys and values have at most some hundred characters, so real selectors are shorter. */
const charactersMax = 32 * 1024;

/** Each requirement, and each further value of a set, takes some hundred bytes and is compared with objects. */
const termsMax = 1_000;

export function requireFewCharacters(parameter: Parameter, text: string): void {
  if (text.length > charactersMax)
    throw new SelectorSyntaxError(`${parameter} has more than ${charactersMax} characters`);
}

export function requireFewTerms(parameter: Parameter, terms: number): void {
  if (terms > termsMax)
    throw new SelectorSyntaxError(`${parameter} has more than ${termsMax} requirements and values of sets`);
}
