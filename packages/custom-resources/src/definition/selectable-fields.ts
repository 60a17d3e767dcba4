import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import type { JsonSchema } from '../schema/json-schema.ts';
import { type FieldPlace, findField } from './field-path.ts';
import { pathCharactersMax } from '../json-path.ts';
import { schemasPerStep } from './schema-parts.ts';

/** Each is kept in memory for every object. */
const selectableFieldsMax = 8;

const selectableTypes = new Set(['string', 'boolean', 'integer']);

/** Fields that field selectors may name: single values that the schema describes. */
export function* validateSelectableFields(
  fields: readonly { readonly jsonPath: string }[],
  schema: JsonSchema,
  problems: Problems,
): SyncTask<void> {
  const seen = new Set<string>();
  const places = new Map<string, FieldPlace | string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    if (index % schemasPerStep === 0) yield;
    const at = problems.at(index, 'jsonPath');
    if (jsonPath.length > pathCharactersMax) {
      at.tooManyCharacters(pathCharactersMax);
      continue;
    }
    const found =
      jsonPath === '' ? undefined : (places.get(jsonPath) ?? findField(jsonPath, schema, { allowsBrackets: false }));
    if (found) places.set(jsonPath, found);
    if (found === undefined) at.required();
    else if (typeof found === 'string') at.invalid(jsonPath, `is an invalid path: ${found}`);
    else validatePlace(found, seen, jsonPath, at);
  }
  if (seen.size > selectableFieldsMax) problems.tooMany(seen.size, selectableFieldsMax);
}

function validatePlace({ steps, schema }: FieldPlace, seen: Set<string>, jsonPath: string, at: Problems): void {
  if (steps[0] === 'metadata') at.invalid(jsonPath, 'must not point to fields in metadata');
  if (!selectableTypes.has(schema?.type ?? ''))
    at.invalid(
      jsonPath,
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    );
  const path = steps.join('.');
  if (seen.has(path)) at.duplicate(jsonPath);
  seen.add(path);
}
