/** What operations have in common: responses, media types and IDs. */
import type { ApiVersion, ServedKind } from '@cluster-apiserver/model/kind';
import { object, type ObjectSchema, sharedPublication } from '@cluster-apiserver/model/schema';
import type { OperationResponse, RequestBody } from './endpoint.ts';

export const ok = (schema: ObjectSchema): OperationResponse => ({ code: 200, description: 'OK', schema });
const created = (schema: ObjectSchema): OperationResponse => ({ code: 201, description: 'Created', schema });
export const accepted = (schema: ObjectSchema): OperationResponse => ({
  code: 202,
  description: 'Accepted',
  schema,
});

/** As kube-apiserver describes its writes, whichever of the codes each of them has. */
export const responsesOfCreate = (schema: ObjectSchema): readonly OperationResponse[] => [
  ...responsesOfUpdate(schema),
  accepted(schema),
];
export const responsesOfUpdate = (schema: ObjectSchema): readonly OperationResponse[] => [ok(schema), created(schema)];

/** Its media type determines what it looks like. */
const patchSchema = object({}, { publication: sharedPublication('Patch', 'A change of an object.') });

/** Custom kinds lack the rules by which a strategic merge patch merges lists. */
export const patchBody = ({ isCustom }: ServedKind): RequestBody => ({
  schema: patchSchema,
  types: [
    'application/apply-patch+yaml',
    'application/json-patch+json',
    'application/merge-patch+json',
    ...(isCustom ? [] : ['application/strategic-merge-patch+json']),
  ],
  required: true,
});

/** Media types of request bodies and of responses. */
export const mediaTypesOf = ({ hasProtobuf }: ServedKind): readonly string[] => [
  'application/json',
  'application/yaml',
  ...(hasProtobuf ? ['application/vnd.kubernetes.protobuf'] : []),
];

/** Media types of watch events. YAML cannot be streamed. */
export const streamTypesOf = (kind: ApiVersion): readonly string[] =>
  kind.isCustom
    ? []
    : mediaTypesOf(kind).flatMap((type) => (type === 'application/yaml' ? [] : [`${type};stream=watch`]));

/** How operation IDs name one object: `NamespacedRobot`. */
export const objectName = ({ namespaced, kind }: ServedKind): string => `${namespaced ? 'Namespaced' : ''}${kind}`;

/** Such as `listCoreV1NamespacedRobot`, or `readRobotsExampleComV1Robot`. */
export function operationId({ group, version }: ServedKind, verb: string, noun: string): string {
  return `${verb}${groupVersionWords(group, version).map(capitalized).join('')}${noun}`;
}

/** The words of a group and version in operation IDs and tags: `core` and `v1`, or `robots`, `example`, `com` and `v1`. */
export const groupVersionWords = (group: string, version: string): readonly string[] => [
  ...(group.replace(/\.k8s\.io$/, '') || 'core').split(/[.-]/),
  version,
];

export const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
