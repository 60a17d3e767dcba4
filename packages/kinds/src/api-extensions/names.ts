import type { Problems } from '@cluster-apiserver/model';
import { dnsWordLabel } from '@cluster-apiserver/model/validation';
import type { DefinitionNames } from './definition-fields.ts';

/** Of short names and of categories, each. Discovery repeats them for every resource of the kind. */
const aliasesMax = 100;

/** Validates the names in a spec, where some are required, or those in a status. */
export function validateNames(names: DefinitionNames, problems: Problems): void {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const requireLabel = (at: Problems, text: string): void => {
    const details = dnsWordLabel(text);
    if (details.length > 0) at.invalid(text, details.join(','));
  };
  const requireKind = (at: Problems, text: string): void => {
    const details = dnsWordLabel(text.toLowerCase());
    if (details.length > 0) at.invalid(text, `may have mixed case, but should otherwise match: ${details.join(',')}`);
  };
  if (plural) requireLabel(problems.at('plural'), plural);
  if (singular) requireLabel(problems.at('singular'), singular);
  if (kind) requireKind(problems.at('kind'), kind);
  if (listKind) requireKind(problems.at('listKind'), listKind);
  const requireAliases = (at: Problems, aliases: readonly string[]): void => {
    if (aliases.length > aliasesMax) at.tooMany(aliases.length, aliasesMax);
    else at.each(aliases, (name, place) => requireLabel(place, name));
  };
  requireAliases(problems.at('shortNames'), shortNames);
  // Otherwise an object and a list would have the same kind.
  if (kind && kind === listKind) problems.at('listKind').invalid(listKind, 'kind and listKind may not be the same');
  requireAliases(problems.at('categories'), categories);
}

export function requireNames(names: DefinitionNames, problems: Problems): void {
  for (const name of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names[name]) problems.at(name).required();
}
