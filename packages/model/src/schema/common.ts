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
      'Whether the owner, when it is deleted in the foreground, waits until this object is gone.',
      'given',
    ),
  },
  {
    atomic: true,
    publication: sharedPublication('OwnerReference', 'Names an object on which another depends.'),
    numbers: { kind: 1, name: 3, uid: 4, apiVersion: 5, controller: 6, blockOwnerDeletion: 7 },
  },
);

const managedFieldsEntry = object(
  {
    manager: field(string, 'Who wrote the fields.'),
    operation: field(string, 'How they were written: Apply or Update.'),
    apiVersion: field(string, 'API version that the fields are named in.'),
    time: field(time, 'When the entry was last changed.'),
    fieldsType: field(string, 'The format of the fields; FieldsV1 is the only one.'),
    fieldsV1: field(any, 'The set of fields.'),
    subresource: field(string, 'The subresource that was written through, if any.'),
  },
  {
    publication: sharedPublication('ManagedFieldsEntry', 'Who wrote which fields, and how.'),
    numbers: { manager: 1, operation: 2, apiVersion: 3, time: 4, fieldsType: 6, fieldsV1: 7, subresource: 8 },
  },
);

export const objectMeta = object(
  {
    name: field(string, 'Name of the object, unique for its kind within a namespace. Cannot be changed.'),
    generateName: field(string, 'Prefix of a name that the server completes when no name is given.'),
    namespace: field(string, 'Namespace of the object. Cannot be changed.'),
    selfLink: field(string, 'No longer set by the server.'),
    uid: field(string, 'Unique in time and space; set by the server.'),
    resourceVersion: field(string, 'Changes with every write. Send it back to write only if nobody else has.'),
    generation: field(int64, 'Counts changes of the desired state.'),
    creationTimestamp: field(time, 'When the object was created; set by the server.'),
    deletionTimestamp: field(time, 'When deletion was asked for, while finalizers hold the object.'),
    deletionGracePeriodSeconds: field(int64, 'Seconds that a deletion waits; set by the server.', 'given'),
    labels: field(stringMap, 'Keys and values by which objects are selected.'),
    annotations: field(stringMap, 'Keys and values of any kind for tools and libraries.'),
    ownerReferences: field(list(ownerReference, { key: 'uid' }), 'Objects on which this one depends.'),
    finalizers: field(list(string, 'set'), 'Who must agree before the object disappears.'),
    managedFields: field(list(managedFieldsEntry, 'atomic'), 'Which writer owns which fields; kept by the server.'),
  },
  {
    publication: sharedPublication('ObjectMeta', 'What every stored object says about itself.'),
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
    resourceVersion: field(string, 'Version of the object that is meant, if a certain one is.'),
    fieldPath: field(string, 'Part of the object that is meant, such as spec.containers{web}.'),
  },
  {
    atomic: true,
    publication: publicationOf(
      { ...core, kind: 'ObjectReference' },
      'Names an object well enough to find or look at it.',
    ),
    numbers: { kind: 1, namespace: 2, name: 3, uid: 4, apiVersion: 5, resourceVersion: 6, fieldPath: 7 },
  },
);

export const localObjectReference = object(
  { name: field(string, 'Name of an object in the same namespace.') },
  {
    atomic: true,
    publication: publicationOf({ ...core, kind: 'LocalObjectReference' }, 'Names an object in the same namespace.'),
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
    resourceVersion: field(string, 'The version of the collection that the list shows. A watch may go on from here.'),
    continue: field(string, 'Set when there is more: send it back, with the same parameters, for the next chunk.'),
    remainingItemCount: field(int64, 'How many objects are behind this chunk, where that is known.', 'given'),
  },
  {
    publication: sharedPublication('ListMeta', 'What a list says about itself.'),
    numbers: { selfLink: 1, resourceVersion: 2, continue: 3, remainingItemCount: 4 },
  },
);

/** What a delete may say in its body. */
export const deleteOptions = object(
  {
    ...typeMeta,
    gracePeriodSeconds: field(int64, 'Seconds before the object is deleted; 0 means at once.', 'given'),
    preconditions: field(
      object(
        {
          uid: field(string, 'The UID that the object must have.', 'given'),
          resourceVersion: field(string, 'The resourceVersion that it must have.', 'given'),
        },
        {
          publication: sharedPublication('Preconditions', 'What must hold for a deletion to happen.'),
          numbers: { uid: 1, resourceVersion: 2 },
        },
      ),
      'What must hold for the deletion to happen.',
    ),
    orphanDependents: field(boolean, 'Deprecated; use propagationPolicy.', 'given'),
    propagationPolicy: field(string, 'What becomes of dependents: Orphan, Background or Foreground.', 'given'),
    dryRun: field(list(string, 'atomic'), 'All: nothing is written.'),
    ignoreStoreReadErrorWithClusterBreakingPotential: field(
      boolean,
      'Alpha, behind a feature gate. Deletes what cannot be read any more.',
      'given',
    ),
  },
  {
    publication: sharedPublication('DeleteOptions', 'How an object is to be deleted.'),
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
    reason: field(string, 'What kind of mistake it is, for programs.'),
    message: field(string, 'What is wrong, for people.'),
    field: field(string, 'The field that is wrong, as a path such as metadata.labels.'),
  },
  {
    publication: sharedPublication('StatusCause', 'One of the things that are wrong.'),
    numbers: { reason: 1, message: 2, field: 3 },
  },
);

const statusDetails = object(
  {
    name: field(string, 'Name of the object.'),
    group: field(string, 'Group of the kind of the object.'),
    kind: field(string, 'Kind or resource of the object.'),
    uid: field(string, 'UID of the object.'),
    causes: field(list(statusCause, 'atomic'), 'All that is wrong, where it is more than one thing.'),
    retryAfterSeconds: field(int32, 'Seconds after which another try may help.'),
  },
  {
    publication: sharedPublication('StatusDetails', 'What a failure is about.'),
    numbers: { name: 1, group: 2, kind: 3, causes: 4, retryAfterSeconds: 5, uid: 6 },
  },
);

/** The answer to a request that is not answered by an object. */
export const statusSchema = object(
  {
    ...typeMeta,
    metadata: field(listMeta, 'Standard list metadata.', 'always'),
    status: field(string, 'Success or Failure.'),
    message: field(string, 'What happened, for people.'),
    reason: field(string, 'Why it failed, in one word for programs.'),
    details: field(statusDetails, 'More about the reason; what is there depends on it.'),
    code: field(int32, 'The HTTP code of the answer.'),
  },
  {
    publication: sharedPublication('Status', 'How a request ended that is not answered by an object.'),
    numbers: { metadata: 1, status: 2, message: 3, reason: 4, details: 5, code: 6 },
  },
);

/** A line of a watch. */
export const watchEvent = object(
  {
    type: field(string, 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.', 'always'),
    object: field(
      any,
      'The object as it is now, or as it last was; a Status for ERROR; only its resourceVersion for BOOKMARK.',
      'always',
    ),
  },
  { publication: sharedPublication('WatchEvent', 'One change, as a watch reports it.') },
);
