import {
  deleteOptions,
  type GroupVersionKind,
  type Kind,
  type ObjectSchema,
  type Review,
  type ServedKind,
  type ServedSubresource,
  statusSchema,
  type Verb,
  watchEvent,
} from '@cluster-apiserver/model';
import { type Parameter, parametersOf } from './parameters.ts';

/** What can be done at a path, before any version of OpenAPI has its way of saying so. */
export interface Operation {
  readonly path: string;
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  /** What Kubernetes calls it. */
  readonly action: string;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  readonly target: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  readonly body?: Body;
  readonly answers: readonly Answer[];
  /** The types that an answer may have. */
  readonly produces: readonly string[];
}
export interface Body {
  /** A patch has no form of its own. */
  readonly schema: ObjectSchema | undefined;
  readonly types: readonly string[];
  readonly required: boolean;
}
export interface Answer {
  readonly code: number;
  readonly description: string;
  readonly schema: ObjectSchema;
}

/** How objects travel, both ways. */
const objectTypes = ({ hasProtobuf }: ServedKind): readonly string[] => [
  'application/json',
  'application/yaml',
  ...(hasProtobuf ? ['application/vnd.kubernetes.protobuf'] : []),
];
/** How they travel one by one. */
const streamTypes = (kind: Kind): readonly string[] =>
  objectTypes(kind).flatMap((type) => (type === 'application/yaml' ? [] : [`${type};stream=watch`]));
const patchTypes = [
  'application/apply-patch+yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
];

const ok = (schema: ObjectSchema): Answer => ({ code: 200, description: 'Done.', schema });
const created = (schema: ObjectSchema): Answer => ({ code: 201, description: 'Created.', schema });
const accepted = (schema: ObjectSchema): Answer => ({
  code: 202,
  description: 'Begun: the object is still there.',
  schema,
});
const unauthorized: Answer = { code: 401, description: 'Nobody knows who is asking.', schema: statusSchema };

/** Everything that can be done with the objects of a kind. */
export const operationsOf = (kind: Kind | Review): readonly Operation[] =>
  ('answer' in kind ? [reviewOperation(kind)] : storedOperations(kind)).map((operation) => ({
    ...operation,
    answers: [...operation.answers, unauthorized],
  }));

const rootOf = ({ group, apiVersion }: ServedKind): string => (group ? `/apis/${apiVersion}` : `/api/${apiVersion}`);

function storedOperations(kind: Kind): readonly Operation[] {
  const { plural, schema, listSchema, namespaced } = kind;
  const types = objectTypes(kind);
  const body = { schema, types, required: true };
  const options = { schema: deleteOptions, types, required: false };
  const root = rootOf(kind);
  const everywhere = `${root}/${plural}`;
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : everywhere;
  const object = `${collection}/{name}`;
  const one = `${namespaced ? 'Namespaced' : ''}${kind.kind}`;
  const ofNamespace = namespaced ? ' of a namespace' : '';
  const id = (verb: string, rest = one): string => `${verb}${groupInNames(kind)}${rest}`;
  const common = {
    tag: groupInNames(kind, '_'),
    target: { group: kind.group, version: kind.version, kind: kind.kind },
  };
  const of = (
    verb: Verb,
    operation: Omit<Operation, 'tag' | 'target' | 'produces'> & { readonly produces?: readonly string[] },
  ): Operation[] => (kind.verbs.includes(verb) ? [{ produces: types, ...operation, ...common }] : []);
  const read = { method: 'get', parameters: parametersOf.get } as const;
  const list = {
    ...read,
    parameters: parametersOf.list,
    action: 'list',
    answers: [ok(listSchema)],
    produces: [...types, ...streamTypes(kind)],
  } as const;
  const watch = {
    ...list,
    action: 'watchlist',
    answers: [ok(watchEvent)],
    produces: ['application/json', ...streamTypes(kind)],
  } as const;
  const watchRoot = `${root}/watch`;
  const watched = namespaced ? `${watchRoot}/namespaces/{namespace}/${plural}` : `${watchRoot}/${plural}`;
  const ofEverywhere = `${kind.kind}ForAllNamespaces`;
  return [
    ...of('list', {
      ...list,
      path: collection,
      id: id('list'),
      description: `Lists or watches ${plural}${ofNamespace}.`,
    }),
    ...of('create', {
      path: collection,
      method: 'post',
      action: 'post',
      id: id('create'),
      description: `Creates one of the ${plural}.`,
      parameters: parametersOf.write,
      body,
      answers: [created(schema)],
    }),
    ...of('deletecollection', {
      path: collection,
      method: 'delete',
      action: 'deletecollection',
      id: id('delete', `Collection${one}`),
      description: `Deletes ${plural}${ofNamespace}.`,
      parameters: parametersOf.deleteCollection,
      body: options,
      answers: [ok(statusSchema)],
    }),
    ...of('get', {
      ...read,
      path: object,
      action: 'get',
      id: id('read'),
      description: `Reads one of the ${plural}.`,
      answers: [ok(schema)],
    }),
    ...of('update', {
      path: object,
      method: 'put',
      action: 'put',
      id: id('replace'),
      description: `Replaces one of the ${plural}.`,
      parameters: parametersOf.write,
      body,
      answers: kind.createOnReplace ? [ok(schema), created(schema)] : [ok(schema)],
    }),
    ...of('patch', {
      path: object,
      method: 'patch',
      action: 'patch',
      id: id('patch'),
      description: `Changes parts of one of the ${plural}.`,
      parameters: parametersOf.patch,
      body: { schema: undefined, types: patchTypes, required: true },
      answers: [ok(schema), created(schema)],
    }),
    ...of('delete', {
      path: object,
      method: 'delete',
      action: 'delete',
      id: id('delete'),
      description: `Deletes one of the ${plural}.`,
      parameters: parametersOf.delete,
      body: options,
      answers: [ok(kind.deletedAnswer === 'object' ? schema : statusSchema), accepted(schema)],
    }),
    ...(namespaced
      ? [
          ...of('list', {
            ...list,
            path: everywhere,
            id: id('list', ofEverywhere),
            description: `Lists or watches ${plural} of all namespaces.`,
          }),
          ...of('watch', {
            ...watch,
            path: `${watchRoot}/${plural}`,
            id: id('watch', `${kind.kind}ListForAllNamespaces`),
            description: `Watches ${plural} of all namespaces. Deprecated; use watch with a list.`,
          }),
        ]
      : []),
    ...of('watch', {
      ...watch,
      path: watched,
      id: id('watch', `${one}List`),
      description: `Watches ${plural}${ofNamespace}. Deprecated; use watch with a list.`,
    }),
    ...of('watch', {
      ...watch,
      action: 'watch',
      path: `${watched}/{name}`,
      id: id('watch'),
      description: `Watches one of the ${plural}. Deprecated; use watch with a list and a field selector.`,
    }),
    ...kind.subresourceForms.flatMap((form) => subresourceOperations(kind, form, `${object}/${form.name}`)),
  ];
}

function reviewOperation(review: Review): Operation {
  const { group, version, kind, plural, schema, namespaced } = review;
  return {
    path: `${rootOf(review)}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}`,
    method: 'post',
    action: 'post',
    id: `create${groupInNames(review)}${namespaced ? 'Namespaced' : ''}${kind}`,
    tag: groupInNames(review, '_'),
    description: `Answers one of the ${plural}. Nothing is kept.`,
    target: { group, version, kind },
    parameters: parametersOf.write,
    body: { schema, types: objectTypes(review), required: true },
    answers: [created(schema)],
    produces: objectTypes(review),
  };
}

/** The forms that it speaks of. */
export const schemasOf = ({ body, answers }: Operation): ObjectSchema[] => [
  ...(body?.schema ? [body.schema] : []),
  ...answers.map(({ schema }) => schema),
];

/** The named parts of a path. */
export const pathParameters = (path: string): readonly Parameter[] =>
  [...path.matchAll(/\{(namespace|name)\}/g)].map(([, name]) =>
    name === 'namespace'
      ? { name, type: 'string', description: 'The namespace of the objects.' }
      : { name: 'name', type: 'string', description: 'The name of the object.' },
  );

function subresourceOperations(kind: Kind, form: ServedSubresource, path: string): Operation[] {
  const { name, group, version, schema, verbs } = form;
  const types = objectTypes(kind);
  const id = (verb: string): string =>
    `${verb}${groupInNames(kind)}${kind.namespaced ? 'Namespaced' : ''}${kind.kind}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const common = {
    path,
    tag: groupInNames(kind, '_'),
    target: { group, version, kind: form.kind },
    produces: types,
  };
  const write = { parameters: parametersOf.write, body: { schema, types, required: true } };
  const its = `the ${name} of one of the ${kind.plural}`;
  const all: Readonly<Record<string, Omit<Operation, keyof typeof common>>> = {
    create: {
      ...write,
      method: 'post',
      action: 'post',
      id: id('create'),
      description: `Creates ${its}.`,
      answers: [created(schema)],
    },
    get: {
      method: 'get',
      action: 'get',
      id: id('read'),
      description: `Reads ${its}.`,
      parameters: parametersOf.get,
      answers: [ok(schema)],
    },
    update: {
      ...write,
      method: 'put',
      action: 'put',
      id: id('replace'),
      description: `Replaces ${its}.`,
      answers: [ok(schema)],
    },
    patch: {
      method: 'patch',
      action: 'patch',
      id: id('patch'),
      description: `Changes ${its}.`,
      parameters: parametersOf.patch,
      body: { schema: undefined, types: patchTypes, required: true },
      answers: [ok(schema)],
    },
  };
  return Object.entries(all).flatMap(([verb, operation]) =>
    verbs.includes(verb) ? [{ ...common, ...operation }] : [],
  );
}

/** How operations name a group and version: `CoreV1`, `EventsV1`, `RobotsExampleComV1`; as a tag, `core_v1`. */
function groupInNames({ group, version }: { readonly group: string; readonly version: string }, joint = ''): string {
  const words = [...(group.replace(/\.k8s\.io$/, '') || 'core').split(/[.-]/), version];
  if (joint) return words.join(joint);
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
