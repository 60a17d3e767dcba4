import type { Problems } from '@cluster-apiserver/model';
import { dnsWordLabel } from '@cluster-apiserver/model/validation';
import type { DefinitionNames } from './definition-fields.ts';

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
  problems.at('shortNames').each(shortNames, (name, at) => requireLabel(at, name));
  // Otherwise an object and a list would have the same kind.
  if (kind && kind === listKind) problems.at('listKind').invalid(listKind, 'kind and listKind may not be the same');
  problems.at('categories').each(categories, (name, at) => requireLabel(at, name));
}

export function requireNames(names: DefinitionNames, problems: Problems): void {
  for (const name of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names[name]) problems.at(name).required();
}
