import {
  ageColumn,
  defineKind,
  type FieldError,
  field,
  finalizersErrors,
  invalidValue,
  type KubeObject,
  labelNames,
  list,
  nameColumn,
  object,
  publicationOf,
  string,
  time,
} from '@cluster-apiserver/model';

export interface Namespace extends KubeObject {
  spec: { finalizers?: string[] };
  status: { phase?: string; conditions?: NamespaceCondition[] };
}

export interface NamespaceCondition {
  type?: string;
  status?: string;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

/** Stands in `spec.finalizers` for as long as the namespace is not known to be empty. */
export const contentFinalizer = 'kubernetes';

/** By this label a selector finds a namespace by its name, so it always says the name. */
const nameLabel = 'kubernetes.io/metadata.name';

const core = { group: '', version: 'v1' };

const spec = object(
  {
    finalizers: field(
      list(string, 'atomic'),
      'Finalizers that must be removed, through the subresource finalize, before the namespace is deleted.',
    ),
  },
  {
    publication: publicationOf({ ...core, kind: 'NamespaceSpec' }, 'Finalizers of a namespace.'),
    numbers: { finalizers: 1 },
  },
);

const condition = object(
  {
    type: field(string, 'Type of the condition.'),
    status: field(string, 'True, False or Unknown.'),
    lastTransitionTime: field(time, 'Time at which the status last changed.', 'always'),
    reason: field(string, 'Machine-readable reason of the status, in CamelCase.'),
    message: field(string, 'Human-readable message about the status.'),
  },
  {
    publication: publicationOf({ ...core, kind: 'NamespaceCondition' }, 'A condition of the deletion of a namespace.', [
      'type',
      'status',
    ]),
    numbers: { type: 1, status: 2, lastTransitionTime: 4, reason: 5, message: 6 },
  },
);

const status = object(
  {
    phase: field(string, 'Active, or Terminating once the namespace is being deleted.'),
    conditions: field(list(condition, { key: 'type' }), 'Conditions of the deletion, such as remaining content.'),
  },
  {
    publication: publicationOf({ ...core, kind: 'NamespaceStatus' }, 'Current state of a namespace.'),
    numbers: { phase: 1, conditions: 2 },
  },
);

/** A scope for names, and for what users may do. */
export const namespace = defineKind<Namespace>({
  ...core,
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  description: 'A scope for names: two objects of one kind may have the same name in different namespaces.',
  fields: {
    spec: field(spec, 'Finalizers of the namespace.', 'always'),
    status: field(status, 'Current state of the namespace.', 'always'),
  },
  numbers: { spec: 2, status: 3 },
  names: labelNames,
  qualifiedFinalizers: true,
  createOnReplace: false,
  ownsOthers: true,
  deletedAnswer: 'object',
  subresources: [],
  parts: [
    { name: 'finalize', verbs: ['update'], fields: ['spec'], givenOnCreate: true },
    { name: 'status', verbs: ['get', 'patch', 'update'], fields: ['status'], givenOnCreate: false },
  ],
  defaults: named,
  prepare: (namespace, current) => named(current ? namespace : born(namespace)),
  validate: (namespace) => [...finalizerErrors(namespace), ...phaseErrors(namespace)],
  deletion: {
    isHeld: ({ spec }) => (spec.finalizers ?? []).length > 0,
    begun: (namespace) => {
      // Unlike other objects it never says how long its deletion may take.
      const { deletionGracePeriodSeconds: _, ...metadata } = namespace.metadata;
      return { ...namespace, metadata, status: { ...namespace.status, phase: 'Terminating' } };
    },
  },
  columns: [
    nameColumn,
    {
      name: 'Status',
      description: 'Phase of the namespace: Active or Terminating.',
      value: ({ status }) => status.phase ?? '',
    },
    ageColumn,
  ],
  selectableFields: { 'status.phase': ({ status }) => status.phase ?? '' },
  unknownSelectorField: (name) => `field label not supported: ${name}`,
});

/** Without a name yet, it is labelled when it has one. */
function named(namespace: Namespace): Namespace {
  const { name, labels } = namespace.metadata;
  if (!name) return namespace;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, [nameLabel]: name } } };
}

const born = (namespace: Namespace): Namespace => {
  const finalizers = namespace.spec.finalizers ?? [];
  return {
    ...namespace,
    spec: { finalizers: finalizers.includes(contentFinalizer) ? finalizers : [...finalizers, contentFinalizer] },
    status: { phase: 'Active' },
  };
};

const finalizerErrors = ({ spec: { finalizers = [] } }: Namespace): FieldError[] =>
  finalizersErrors('spec.finalizers', finalizers);

function phaseErrors({ metadata, status: { phase } }: Namespace): FieldError[] {
  if (metadata.deletionTimestamp === undefined)
    return phase === 'Active'
      ? []
      : [invalidValue('status.phase', phase ?? '', "may only be 'Active' if `deletionTimestamp` is empty")];
  return phase === 'Terminating'
    ? []
    : [invalidValue('status.phase', phase ?? '', "may only be 'Terminating' if `deletionTimestamp` is not empty")];
}
