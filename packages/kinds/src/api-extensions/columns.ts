import { pathCharactersMax } from '@cluster-apiserver/custom-resources';
import type { Problems } from '@cluster-apiserver/model';
import type { DefinitionColumn, Subresources } from './definition-fields.ts';

const types = ['boolean', 'date', 'integer', 'number', 'string'];
const formats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** A row of a table evaluates the paths of all of them. */
const columnsMax = 100;

/** Nowhere if they are those of another version, too. */
export function validateColumns(columns: readonly DefinitionColumn[], problems: Problems | undefined): void {
  if (columns.length > columnsMax) problems?.tooMany(columns.length, columnsMax);
  else problems?.each(columns, validateColumn);
}

function validateColumn({ name, type, format, jsonPath }: DefinitionColumn, problems: Problems): void {
  const oneOf = (choices: readonly string[]): string => `must be one of ${choices.join(',')}`;
  if (name === '') problems.at('name').required();
  if (type === '') problems.at('type').required(oneOf(types));
  else if (!types.includes(type)) problems.at('type').invalid(type, oneOf(types));
  if (format && !formats.includes(format)) problems.at('format').invalid(format, oneOf(formats));
  // In upstream's spelling.
  requirePath(jsonPath, problems.at('JSONPath'));
}

/** Only the first character is checked. */
function requirePath(path: string, problems: Problems): boolean {
  if (path === '') problems.required();
  else if (path.length > pathCharactersMax) problems.tooManyCharacters(pathCharactersMax);
  else if (!path.startsWith('.')) problems.invalid(path, 'must be a simple json path starting with .');
  else return true;
  return false;
}

export function validateScale({ scale }: Subresources, problems: Problems): void {
  if (!scale) return;
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  const requireBelow = (name: keyof typeof scale, path: string, roots: readonly string[], where: string): void => {
    const at = problems.at('scale', name);
    if (requirePath(path, at) && !roots.some((root) => path.startsWith(`${root}.`)))
      at.invalid(path, `should be a json path under ${where}`);
  };
  requireBelow('specReplicasPath', specReplicasPath, ['.spec'], '.spec');
  requireBelow('statusReplicasPath', statusReplicasPath, ['.status'], '.status');
  if (labelSelectorPath)
    requireBelow('labelSelectorPath', labelSelectorPath, ['.spec', '.status'], 'either .spec or .status');
}
