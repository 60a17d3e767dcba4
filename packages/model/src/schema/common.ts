import { publicationOf, sharedPublication } from './publication.ts';
import { any, boolean, field, jsonField, int32, int64, list, object, string, stringMap, time } from './schema.ts';

/** The parts that the kinds share. */

const core = { group: '', version: 'v1' };

const ownerReference = object(
  {
    apiVersion: field(5, string, 'API version of the owner.'),
    kind: field(1, string, 'Kind of the owner.'),
    name: field(3, string, 'Name of the owner.'),
    uid: field(4, string, 'UID of the owner.', 'always'),
    controller: field(6, boolean, 'Whether this owner manages the object. At most one does.', 'given'),
    blockOwnerDeletion: field(
      7,
      boolean,
      'Whether a foreground deletion of the owner waits until this object is deleted.',
      'given',
    ),
  },
  {
    atomic: true,
    publication: sharedPublication('OwnerReference', 'Identifies the owner of an object.'),
  },
);

const managedFieldsEntry = object(
  {
    manager: field(1, string, 'Writer of the fields.'),
    operation: field(2, string, 'Operation that wrote the fields: Apply or Update.'),
    apiVersion: field(3, string, 'API version that the field set refers to.'),
    time: field(4, time, 'Time of the last change of the entry.'),
    fieldsType: field(6, string, 'The format of the fields; FieldsV1 is the only one.'),
    fieldsV1: field(7, any, 'The set of fields.'),
    subresource: field(8, string, 'Subresource used for the write, if any.'),
  },
  {
    publication: sharedPublication('ManagedFieldsEntry', 'Fields that a writer owns.'),
  },
);

export const objectMeta = object(
  {
    name: field(1, string, 'Name of the object, unique for its kind within a namespace. Cannot be changed.'),
    generateName: field(2, string, 'Prefix of the name that the server generates if name is empty.'),
    namespace: field(3, string, 'Namespace of the object. Cannot be changed.'),
    selfLink: field(4, string, 'No longer set by the server.'),
    uid: field(5, string, 'Unique identifier of the object, never used again; set by the server.'),
    resourceVersion: field(
      6,
      string,
      'Version of the object, changed by every write. Send it with an update to detect concurrent writes.',
    ),
    generation: field(7, int64, 'Number of changes of the desired state.'),
    creationTimestamp: field(8, time, 'CreationTimestamp is a timestamp: the time of creation, set by the server.'),
    deletionTimestamp: field(9, time, 'Time at which deletion was requested, while finalizers remain.'),
    deletionGracePeriodSeconds: field(
      10,
      int64,
      'Grace period of the deletion in seconds; set by the server.',
      'given',
    ),
    labels: field(11, stringMap, 'Keys and values to select objects by.'),
    annotations: field(12, stringMap, 'Unstructured keys and values for tools and libraries.'),
    ownerReferences: field(
      13,
      list(ownerReference, { keys: ['uid'] }),
      'Owners of the object. It is garbage collected when all of them are gone.',
    ),
    finalizers: field(14, list(string, 'set'), 'Identifiers that must be removed before the object is deleted.'),
    managedFields: field(
      17,
      list(managedFieldsEntry, 'atomic'),
      'Field ownership by writer; maintained by the server.',
    ),
  },
  {
    publication: sharedPublication('ObjectMeta', 'Metadata of a stored object.'),
  },
);

export const typeMeta = {
  kind: jsonField(
    string,
    'Kind of the object in CamelCase. Inferred from the endpoint when absent. Cannot be changed.',
  ),
  apiVersion: jsonField(string, 'Versioned schema of the representation.'),
};

export const objectReference = object(
  {
    kind: field(1, string, 'Kind of the object.'),
    namespace: field(2, string, 'Namespace of the object.'),
    name: field(3, string, 'Name of the object.'),
    uid: field(4, string, 'UID of the object.'),
    apiVersion: field(5, string, 'API version of the object.'),
    resourceVersion: field(6, string, 'Version of the object, if a particular one is meant.'),
    fieldPath: field(7, string, 'Part of the object that is meant, such as spec.containers{web}.'),
  },
  {
    atomic: true,
    publication: publicationOf({ ...core, kind: 'ObjectReference' }, 'Reference to an object.'),
  },
);

export const localObjectReference = object(
  { name: field(1, string, 'Name of the object.') },
  {
    atomic: true,
    publication: publicationOf(
      { ...core, kind: 'LocalObjectReference' },
      'Reference to an object in the same namespace.',
    ),
  },
);

/** One requirement of a label selector. Access reviews send the same. */
export const labelSelectorRequirement = object(
  {
    key: field(1, string, 'Label key that the requirement applies to.', 'always'),
    operator: field(2, string, 'In, NotIn, Exists or DoesNotExist.', 'always'),
    values: field(3, list(string, 'atomic'), 'Values for In and NotIn. Must be empty for Exists and DoesNotExist.'),
  },
  {
    publication: {
      ...sharedPublication('LabelSelectorRequirement', 'A requirement that the labels of an object must meet.'),
      required: ['key', 'operator'],
    },
  },
);

/** Selects objects by their labels, as a field of an object. */
export const labelSelector = object(
  {
    matchLabels: field(1, stringMap, 'Labels that must be present with exactly these values.'),
    matchExpressions: field(
      2,
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
  },
);

/** The metadata of a list. */
export const listMeta = object(
  {
    selfLink: field(1, string, 'No longer set by the server.'),
    resourceVersion: field(2, string, 'Version of the collection that the list shows. A watch can start from it.'),
    continue: field(
      3,
      string,
      'Token for the next chunk, if there is one. Send it with otherwise unchanged parameters.',
    ),
    remainingItemCount: field(4, int64, 'Number of objects after this chunk, if known.', 'given'),
  },
  {
    publication: sharedPublication('ListMeta', 'Metadata of a list.'),
  },
);

/** The body of a delete. */
export const deleteOptions = object(
  {
    ...typeMeta,
    gracePeriodSeconds: field(1, int64, 'Seconds before the object is deleted; 0 means immediately.', 'given'),
    preconditions: field(
      2,
      object(
        {
          uid: field(1, string, 'Required UID of the object.', 'given'),
          resourceVersion: field(2, string, 'Required resourceVersion of the object.', 'given'),
        },
        {
          publication: sharedPublication('Preconditions', 'Preconditions of a deletion.'),
        },
      ),
      'Preconditions of the deletion.',
    ),
    orphanDependents: field(3, boolean, 'Deprecated; use propagationPolicy.', 'given'),
    propagationPolicy: field(4, string, 'Handling of dependents: Orphan, Background or Foreground.', 'given'),
    dryRun: field(5, list(string, 'atomic'), 'All: validate the request without storing anything.'),
    ignoreStoreReadErrorWithClusterBreakingPotential: field(
      6,
      boolean,
      'Alpha, requires a feature gate. Deletes objects that can no longer be read from storage.',
      'given',
    ),
  },
  {
    publication: sharedPublication('DeleteOptions', 'Options of a deletion.'),
  },
);

const statusCause = object(
  {
    reason: field(1, string, 'Machine-readable cause of the error.'),
    message: field(2, string, 'Human-readable description of the error.'),
    field: field(3, string, 'Path of the invalid field, such as metadata.labels.'),
  },
  {
    publication: sharedPublication('StatusCause', 'One cause of a failure.'),
  },
);

const statusDetails = object(
  {
    name: field(1, string, 'Name of the object.'),
    group: field(2, string, 'Group of the kind of the object.'),
    kind: field(3, string, 'Kind or resource of the object.'),
    uid: field(6, string, 'UID of the object.'),
    causes: field(4, list(statusCause, 'atomic'), 'Causes of the failure.'),
    retryAfterSeconds: field(5, int32, 'Seconds to wait before a retry.'),
  },
  {
    publication: sharedPublication('StatusDetails', 'Details of a failure.'),
  },
);

/** The answer to a request that is not answered by an object. */
export const statusSchema = object(
  {
    ...typeMeta,
    metadata: field(1, listMeta, 'Standard list metadata.', 'always'),
    status: field(2, string, 'Success or Failure.'),
    message: field(3, string, 'Human-readable description of the result.'),
    reason: field(4, string, 'Machine-readable reason of the failure.'),
    details: field(5, statusDetails, 'Details that depend on the reason.'),
    code: field(6, int32, 'HTTP status code.'),
  },
  {
    publication: sharedPublication('Status', 'Result of a request that does not return an object.'),
  },
);

/** A line of a watch. */
export const watchEvent = object(
  {
    type: jsonField(string, 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.', 'always'),
    object: jsonField(
      any,
      'The current object, or its last state for DELETED; a Status for ERROR; only a resourceVersion for BOOKMARK.',
      'always',
    ),
  },
  { publication: sharedPublication('WatchEvent', 'A change reported by a watch.') },
);
