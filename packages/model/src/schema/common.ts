import { any, boolean, field, int64, list, object, string, stringMap, time } from './schema.ts';

/** The parts that the kinds share. */

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
  { atomic: true },
);

const managedFieldsEntry = object({
  manager: field(string, 'Who wrote the fields.'),
  operation: field(string, 'How they were written: Apply or Update.'),
  apiVersion: field(string, 'API version that the fields are named in.'),
  time: field(time, 'When the entry was last changed.'),
  fieldsType: field(string, 'The format of the fields; FieldsV1 is the only one.'),
  fieldsV1: field(any, 'The set of fields.'),
  subresource: field(string, 'The subresource that was written through, if any.'),
});

export const objectMeta = object({
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
});

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
  { atomic: true },
);

export const localObjectReference = object(
  { name: field(string, 'Name of an object in the same namespace.') },
  { atomic: true },
);
