import type { SyncTask } from '@cluster-apiserver/base';
import type { UserInfo } from '../access.ts';
import type { Problems } from '../problems.ts';
import type { FieldNames, ObjectSchema } from '../schema/schema.ts';
import type { KubeObject } from './object.ts';
import type { EncodableKind, ServedKind } from './served-kind.ts';
import type { Subresource } from './subresource.ts';

/** The objects of a kind as clients of one group and version see them. */
export interface ApiVersion extends ServedKind {
  /** Whether clients see it. Otherwise objects may still be stored in it. */
  readonly isServed: boolean;
  readonly verbs: readonly Verb[];
  readonly description: string;
  readonly listSchema: ObjectSchema;
  /** Subresources with a kind of their own. */
  readonly subresources: readonly Subresource[];
  readonly fieldSubresources: readonly FieldSubresource[];
  /** The response to a delete. `objectIfHeld` is a Status when the object has been removed. */
  readonly deletedAnswer: 'object' | 'objectIfHeld' | 'status';
  /** The fields with another name than in the stored version. */
  readonly fieldNames: FieldNames;
  /** What field selectors may name besides metadata.name and metadata.namespace, each with its stored name. */
  readonly selectable: Readonly<Record<string, string>>;
  /** The error message for a field that cannot be selected by. */
  readonly unknownSelectorField: (field: string) => string;
  /** Validates what is written in this version, in its stored form. As in kube-apiserver, errors have stored names. */
  readonly validate?: (
    object: KubeObject,
    current: KubeObject | undefined,
    problems: Problems,
    context: WriteContext,
  ) => void;
  /** Like `validate`, in steps: for checks that may take longer than an event-loop iteration. */
  readonly validateInSteps?: (
    object: KubeObject,
    current: KubeObject | undefined,
    problems: Problems,
    context: WriteContext,
  ) => SyncTask<void>;
}

/** Who writes an object, and how. */
export interface WriteContext {
  /** Undefined for writes of the server itself. */
  readonly user: UserInfo | undefined;
  /** The version in which the client writes. */
  readonly served: ApiVersion;
  /** The name of the subresource that is written; undefined for the object itself. */
  readonly subresource: string | undefined;
  readonly nowMs: number;
  /** Sends a warning to the client. */
  readonly warn: (text: string) => void;
}

export const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;
export type Verb = (typeof verbs)[number];

/** A subresource that reads and writes the object itself, such as status: these fields and the metadata. */
export interface FieldSubresource {
  /** The last segment of its path. */
  readonly name: string;
  readonly verbs: readonly ('get' | 'patch' | 'update')[];
  readonly fields: readonly string[];
  /** Paths below its fields that its writers do not own, because another subresource decides them. */
  readonly unowned?: readonly (readonly string[])[];
  /** Whether a create may set the fields. */
  readonly givenOnCreate: boolean;
  /** Whether it leaves the metadata as they are, except for managedFields. */
  readonly keepsMetadata: boolean;
  /** It shows its fields in another form. Then they are written with the rest of the object, too. */
  readonly projection?: Projection;
}

/** A part of an object in a form of its own, such as the number of its replicas. */
export interface Projection {
  readonly form: EncodableKind;
  readonly project: (object: KubeObject) => KubeObject;
  /** Whether the object has what is projected. */
  readonly isComplete: (object: KubeObject) => boolean;
  /** The fields of the object that the projected form sets. */
  readonly fieldsOf: (projected: KubeObject) => object;
  /** The object with these fields. Throws a StatusError if the projected form does not have them. */
  readonly change: (object: KubeObject, projected: KubeObject) => KubeObject;
}
