import type { Problems } from '@cluster-apiserver/model';
import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, publicationOf, string, time, type ValueOf } from '@cluster-apiserver/model/schema';
import { labelNames, validateFinalizers } from '@cluster-apiserver/model/validation';

/** In `spec.finalizers` until the namespace controller has found the namespace empty. */
export const contentFinalizer = 'kubernetes';

/** The label by which selectors find a namespace by its name. The server sets it. */
const nameLabel = 'kubernetes.io/metadata.name';

const core = { group: '', version: 'v1' };

const specSchema = object(
  {
    finalizers: field(
      1,
      list(string, 'atomic'),
      'Finalizers that must be removed, through the subresource finalize, before the namespace is deleted.',
    ),
  },
  {
    publication: publicationOf({ ...core, kind: 'NamespaceSpec' }, 'Finalizers of a namespace.'),
  },
);

const condition = object(
  {
    type: field(1, string, 'Type of the condition.'),
    status: field(2, string, 'True, False or Unknown.'),
    lastTransitionTime: field(4, time, 'Time at which the status last changed.', 'always'),
    reason: field(5, string, 'Machine-readable reason of the status, in CamelCase.'),
    message: field(6, string, 'Human-readable message about the status.'),
  },
  {
    publication: publicationOf({ ...core, kind: 'NamespaceCondition' }, 'A condition of the deletion of a namespace.', [
      'type',
      'status',
    ]),
  },
);

export type NamespaceCondition = ValueOf<typeof condition>;

const statusSchema = object(
  {
    phase: field(1, string, 'Active, or Terminating once the namespace is being deleted.'),
    conditions: field(2, list(condition, { keys: ['type'] }), 'Conditions of the deletion, such as remaining content.'),
  },
  {
    publication: publicationOf({ ...core, kind: 'NamespaceStatus' }, 'Current state of a namespace.'),
  },
);

const fields = {
  spec: field(2, specSchema, 'Finalizers of the namespace.', 'always'),
  status: field(3, statusSchema, 'Current state of the namespace.', 'always'),
};

export type Namespace = ObjectOf<typeof fields>;

/** A scope for names and permissions. */
export const namespaceKind = defineKind({
  ...core,
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  namespaced: false,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  description: 'A scope for names: two objects of one kind may have the same name in different namespaces.',
  fields,
  names: labelNames,
  deletedAnswer: 'object',
  fieldSubresources: [
    { name: 'finalize', verbs: ['update'], fields: ['spec'], givenOnCreate: true, keepsMetadata: false },
    {
      name: 'status',
      verbs: ['get', 'patch', 'update'],
      fields: ['status'],
      givenOnCreate: false,
      // As in kube-apiserver, whose newer kinds keep them.
      keepsMetadata: false,
    },
  ],
  defaults: withNameLabel,
  prepare: (namespace, current) => withNameLabel(current ? withPhase(namespace) : withInitialState(namespace)),
  validate: (namespace, current, problems) => {
    validateSpec(namespace, current, problems.at('spec', 'finalizers'));
    validatePhase(namespace, problems);
  },
  deletion: {
    isHeld: ({ spec }) => (spec.finalizers ?? []).length > 0,
    begin: (namespace) => ({ ...namespace, status: { ...namespace.status, phase: 'Terminating' } }),
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

const withPhase = (namespace: Namespace): Namespace =>
  namespace.status.phase ? namespace : { ...namespace, status: { ...namespace.status, phase: 'Active' } };

/** A namespace whose name is not generated yet gets the label later. */
function withNameLabel(namespace: Namespace): Namespace {
  const { name, labels } = namespace.metadata;
  if (!name) return namespace;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, [nameLabel]: name } } };
}

const withInitialState = (namespace: Namespace): Namespace => {
  const finalizers = namespace.spec.finalizers ?? [];
  return {
    ...namespace,
    spec: { finalizers: finalizers.includes(contentFinalizer) ? finalizers : [...finalizers, contentFinalizer] },
    status: { phase: 'Active' },
  };
};

/** Like kube-apiserver, which names the place in the list only in errors of the subresource finalize. */
const validateSpec = ({ spec: { finalizers = [] } }: Namespace, current: Namespace | undefined, at: Problems): void =>
  validateFinalizers(finalizers, current?.spec.finalizers, at, (index) => (current ? at.at(index) : at));

function validatePhase({ metadata, status: { phase = '' } }: Namespace, problems: Problems): void {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const wanted = isDeleted ? 'Terminating' : 'Active';
  if (phase === wanted) return;
  const wantedWhen = isDeleted ? '`deletionTimestamp` is not empty' : '`deletionTimestamp` is empty';
  // With the capital letter of kube-apiserver.
  problems.at('status', 'Phase').invalid(phase, `may only be '${wanted}' if ${wantedWhen}`);
}
