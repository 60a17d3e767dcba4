import type { Problems } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { field, list, object, publicationOf, string, time, type ValueOf } from '@cluster-apiserver/model/schema';

export const flowControl = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1' };

export const publication = (kind: string, description: string, required: readonly string[] = []) => ({
  publication: publicationOf({ ...flowControl, kind }, description, required),
});

/** Stands for everything of its kind: verbs, groups, resources, namespaces, paths, names of service accounts. */
export const everything = '*';

const conditionSchemaOf = (kind: string) =>
  object(
    {
      type: field(1, string, 'Type of the condition.'),
      status: field(2, string, 'True, False or Unknown.'),
      lastTransitionTime: field(3, time, 'Time of the last change of the status.', 'always'),
      reason: field(4, string, 'Reason of the last change, in one word.'),
      message: field(5, string, 'Details of the last change.'),
    },
    publication(kind, 'An aspect of the current state.'),
  );

export const statusSchemaOf = (kind: string) =>
  object(
    {
      conditions: field(
        1,
        list(conditionSchemaOf(`${kind}Condition`), { keys: ['type'] }),
        'Aspects of the current state.',
      ),
    },
    publication(`${kind}Status`, 'The current state.'),
  );

type Status = ValueOf<ReturnType<typeof statusSchemaOf>>;

export function validateStatus({ conditions = [] }: Status, problems: Problems): void {
  const seen = new Set<string>();
  problems.at('conditions').each(conditions, ({ type = '' }, at) => {
    if (seen.has(type)) at.at('type').duplicate(type);
    seen.add(type);
    if (type === '') at.at('type').required();
  });
}

export const statusSubresource = {
  name: 'status',
  verbs: ['get', 'patch', 'update'],
  fields: ['status'],
  givenOnCreate: false,
  keepsMetadata: true,
} as const;

/**
 * A spec in an error message, as upstream writes it: with the names of its Go fields, absent ones included. `fields` is an
 * example with all of them.
 */
export function inGoNames(value: unknown, fields: unknown): unknown {
  if (Array.isArray(fields)) return Array.isArray(value) ? value.map((entry) => inGoNames(entry, fields[0])) : null;
  if (typeof fields !== 'object' || fields === null) return value ?? fields;
  if (!isJsonObject(value)) return null;
  return Object.fromEntries(
    Object.entries(fields).map(([name, below]) => [goName(name), inGoNames(value[name], below)]),
  );
}

const goName = (name: string): string =>
  `${name.charAt(0).toUpperCase()}${name.slice(1)}`.replace(/^ApiGroups$/, 'APIGroups');
