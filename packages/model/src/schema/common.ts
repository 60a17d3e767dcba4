import { publicationOf, sharedPublication } from './publication.ts';
import { any, boolean, field, int32, int64, list, object, string, stringMap, time } from './schema.ts';

/** The parts that the kinds share. */

const core = { group: '', version: 'v1' };

const ownerReference = object(
  {
    apiVersion: field(string, 'API version of the owner.'),
    kind: field(string, 'Kind of the owner.'),
    name: field(string, 'Name of the owner.'),
    uid: field(string, 'UID of the owner.', 'always'),
    controller: field(boolean, 'Whether this owner manages the object. At most one does.', 'given'),
    blockOwnerDeletion: field(
      boolean,
      'Whether a foreground deletion of the owner waits until this object is deleted.',
      'given',
    ),
  },
  {
    atomic: true,
    publication: sharedPublication('OwnerReference', 'Identifies the owner of an object.'),
    numbers: { kind: 1, name: 3, uid: 4, apiVersion: 5, controller: 6, blockOwnerDeletion: 7 },
  },
);

const managedFieldsEntry = object(
  {
    manager: field(string, 'Writer of the fields.'),
    operation: field(string, 'Operation that wrote the fields: Apply or Update.'),
    apiVersion: field(string, 'API version that the field set refers to.'),
    time: field(time, 'Time of the last change of the entry.'),
    fieldsType: field(string, 'The format of the fields; FieldsV1 is the only one.'),
    fieldsV1: field(any, 'The set of fields.'),
    subresource: field(string, 'Subresource used for the write, if any.'),
  },
  {
    publication: sharedPublication('ManagedFieldsEntry', 'Fields that a writer owns.'),
    numbers: { manager: 1, operation: 2, apiVersion: 3, time: 4, fieldsType: 6, fieldsV1: 7, subresource: 8 },
  },
);

export const objectMeta = object(
  {
    name: field(string, 'Name of the object, unique for its kind within a namespace. Cannot be changed.'),
    generateName: field(string, 'Prefix of the name that the server generates if name is empty.'),
    namespace: field(string, 'Namespace of the object. Cannot be changed.'),
    selfLink: field(string, 'No longer set by the server.'),
    uid: field(string, 'Unique identifier of the object, never used again; set by the server.'),
    resourceVersion: field(
      string,
      'Version of the object, changed by every write. Send it with an update to detect concurrent writes.',
    ),
    generation: field(int64, 'Number of changes of the desired state.'),
    creationTimestamp: field(time, 'Time of creation; set by the server.'),
    deletionTimestamp: field(time, 'Time at which deletion was requested, while finalizers remain.'),
    deletionGracePeriodSeconds: field(int64, 'Grace period of the deletion in seconds; set by the server.', 'given'),
    labels: field(stringMap, 'Keys and values to select objects by.'),
    annotations: field(stringMap, 'Unstructured keys and values for tools and libraries.'),
    ownerReferences: field(
      list(ownerReference, { key: 'uid' }),
      'Owners of the object. It is garbage collected when all of them are gone.',
    ),
    finalizers: field(list(string, 'set'), 'Identifiers that must be removed before the object is deleted.'),
    managedFields: field(list(managedFieldsEntry, 'atomic'), 'Field ownership by writer; maintained by the server.'),
  },
  {
    publication: sharedPublication('ObjectMeta', 'Metadata of a stored object.'),
    numbers: {
      name: 1,
      generateName: 2,
      namespace: 3,
      selfLink: 4,
      uid: 5,
      resourceVersion: 6,
      generation: 7,
      creationTimestamp: 8,
      deletionTimestamp: 9,
      deletionGracePeriodSeconds: 10,
      labels: 11,
      annotations: 12,
      ownerReferences: 13,
      finalizers: 14,
      managedFields: 17,
    },
  },
);

export const typeMeta = {
  kind: field(string, 'Kind of the object in CamelCase. Inferred from the endpoint when absent. Cannot be changed.'),
  apiVersion: field(string, 'Versioned schema of the representation.'),
};

export const objectReference = object(
  {
    kind: field(string, 'Kind of the object.'),
    namespace: field(string, 'Namespace of the object.'),
    name: field(string, 'Name of the object.'),
    uid: field(string, 'UID of the object.'),
    apiVersion: field(string, 'API version of the object.'),
    resourceVersion: field(string, 'Version of the object, if a particular one is meant.'),
    fieldPath: field(string, 'Part of the object that is meant, such as spec.containers{web}.'),
  },
  {
    atomic: true,
    publication: publicationOf({ ...core, kind: 'ObjectReference' }, 'Reference to an object.'),
    numbers: { kind: 1, namespace: 2, name: 3, uid: 4, apiVersion: 5, resourceVersion: 6, fieldPath: 7 },
  },
);

export const localObjectReference = object(
  { name: field(string, 'Name of the object.') },
  {
    atomic: true,
    publication: publicationOf(
      { ...core, kind: 'LocalObjectReference' },
      'Reference to an object in the same namespace.',
    ),
    numbers: { name: 1 },
  },
);

/** One requirement of a label selector. Access reviews send the same. */
export const labelSelectorRequirement = object(
  {
    key: field(string, 'Label key that the requirement applies to.', 'always'),
    operator: field(string, 'In, NotIn, Exists or DoesNotExist.', 'always'),
    values: field(list(string, 'atomic'), 'Values for In and NotIn. Must be empty for Exists and DoesNotExist.'),
  },
  {
    publication: {
      ...sharedPublication('LabelSelectorRequirement', 'A requirement that the labels of an object must meet.'),
      required: ['key', 'operator'],
    },
    numbers: { key: 1, operator: 2, values: 3 },
  },
);

/** Selects objects by their labels, as a field of an object. */
export const labelSelector = object(
  {
    matchLabels: field(stringMap, 'Labels that must be present with exactly these values.'),
    matchExpressions: field(
      list(labelSelectorRequirement, 'atomic'),
      'Requirements on labels. All of them must be met, together with matchLabels.',
    ),
  },
  {
    atomic: true,
    publication: sharedPublication(
      'LabelSelector',
      'Selects objects by their labels. All conditions must be met; an empty selector matches all objects.',
    ),
    numbers: { matchLabels: 1, matchExpressions: 2 },
  },
);

/** The metadata of a list. */
export const listMeta = object(
  {
    selfLink: field(string, 'No longer set by the server.'),
    resourceVersion: field(string, 'Version of the collection that the list shows. A watch can start from it.'),
    continue: field(string, 'Token for the next chunk, if there is one. Send it with otherwise unchanged parameters.'),
    remainingItemCount: field(int64, 'Number of objects after this chunk, if known.', 'given'),
  },
  {
    publication: sharedPublication('ListMeta', 'Metadata of a list.'),
    numbers: { selfLink: 1, resourceVersion: 2, continue: 3, remainingItemCount: 4 },
  },
);

/** What a delete may say in its body. */
export const deleteOptions = object(
  {
    ...typeMeta,
    gracePeriodSeconds: field(int64, 'Seconds before the object is deleted; 0 means immediately.', 'given'),
    preconditions: field(
      object(
        {
          uid: field(string, 'Required UID of the object.', 'given'),
          resourceVersion: field(string, 'Required resourceVersion of the object.', 'given'),
        },
        {
          publication: sharedPublication('Preconditions', 'Preconditions of a deletion.'),
          numbers: { uid: 1, resourceVersion: 2 },
        },
      ),
      'Preconditions of the deletion.',
    ),
    orphanDependents: field(boolean, 'Deprecated; use propagationPolicy.', 'given'),
    propagationPolicy: field(string, 'How dependents are handled: Orphan, Background or Foreground.', 'given'),
    dryRun: field(list(string, 'atomic'), 'All: validate the request without storing anything.'),
    ignoreStoreReadErrorWithClusterBreakingPotential: field(
      boolean,
      'Alpha, requires a feature gate. Deletes objects that can no longer be read from storage.',
      'given',
    ),
  },
  {
    publication: sharedPublication('DeleteOptions', 'Options of a deletion.'),
    numbers: {
      gracePeriodSeconds: 1,
      preconditions: 2,
      orphanDependents: 3,
      propagationPolicy: 4,
      dryRun: 5,
      ignoreStoreReadErrorWithClusterBreakingPotential: 6,
    },
  },
);

const statusCause = object(
  {
    reason: field(string, 'Machine-readable cause of the error.'),
    message: field(string, 'Human-readable description of the error.'),
    field: field(string, 'Path of the invalid field, such as metadata.labels.'),
  },
  {
    publication: sharedPublication('StatusCause', 'One cause of a failure.'),
    numbers: { reason: 1, message: 2, field: 3 },
  },
);

const statusDetails = object(
  {
    name: field(string, 'Name of the object.'),
    group: field(string, 'Group of the kind of the object.'),
    kind: field(string, 'Kind or resource of the object.'),
    uid: field(string, 'UID of the object.'),
    causes: field(list(statusCause, 'atomic'), 'Causes of the failure.'),
    retryAfterSeconds: field(int32, 'Seconds to wait before a retry.'),
  },
  {
    publication: sharedPublication('StatusDetails', 'Details of a failure.'),
    numbers: { name: 1, group: 2, kind: 3, causes: 4, retryAfterSeconds: 5, uid: 6 },
  },
);

/** The answer to a request that is not answered by an object. */
export const statusSchema = object(
  {
    ...typeMeta,
    metadata: field(listMeta, 'Standard list metadata.', 'always'),
    status: field(string, 'Success or Failure.'),
    message: field(string, 'Human-readable description of the result.'),
    reason: field(string, 'Machine-readable reason of the failure.'),
    details: field(statusDetails, 'Details that depend on the reason.'),
    code: field(int32, 'HTTP status code.'),
  },
  {
    publication: sharedPublication('Status', 'Result of a request that does not return an object.'),
    numbers: { metadata: 1, status: 2, message: 3, reason: 4, details: 5, code: 6 },
  },
);

/** A line of a watch. */
export const watchEvent = object(
  {
    type: field(string, 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.', 'always'),
    object: field(
      any,
      'The current object, or its last state for DELETED; a Status for ERROR; only a resourceVersion for BOOKMARK.',
      'always',
    ),
  },
  { publication: sharedPublication('WatchEvent', 'A change reported by a watch.') },
);
