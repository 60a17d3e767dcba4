import { ageColumn, defineKind, type KubeObject, nameColumn } from '@cluster-apiserver/model/kind';
import { isJsonObject, numberOf, sameJson } from '@cluster-apiserver/model/json';
import { any, field, int64 } from '@cluster-apiserver/model/schema';

/** A state of something that a controller rolls out and may go back to. */
export const controllerRevision = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  singular: 'controllerrevision',
  description: 'One state in the history of an object, kept by its controller. It cannot be changed.',
  fields: {
    data: field(2, any, 'The state. Only its controller knows its form.'),
    revision: field(3, int64, 'The place of the state in the history.', 'always'),
  },
  requiredFields: ['revision'],
  validate: ({ data, revision }, current, problems) => {
    if (current && !sameJson(data, current.data)) problems.at('data').invalid(data, 'field is immutable');
    if (data === undefined) problems.at('data').required('data is mandatory');
    else if (!isJsonObject(data)) problems.at('data').required('data must be a valid JSON object');
    if (numberOf(revision) < 0) problems.at('revision').invalid(revision, 'must be greater than or equal to 0');
  },
  columns: [
    nameColumn,
    { name: 'Controller', description: 'The owner that manages it.', value: ({ metadata }) => controllerOf(metadata) },
    {
      name: 'Revision',
      description: 'The place of the state in the history.',
      value: ({ revision }) => numberOf(revision),
    },
    ageColumn,
  ],
});

function controllerOf({ ownerReferences = [] }: KubeObject['metadata']): string {
  const owner = ownerReferences.find(({ controller }) => controller);
  if (!owner) return '<none>';
  const { apiVersion = '', kind = '', name } = owner;
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/', 1)[0]}` : '';
  return `${kind.toLowerCase()}${group}/${name}`;
}
