import type { SyncTask } from '@cluster-apiserver/base';
import type { ApiVersion } from './api-version.ts';
import type { Conversion } from './conversion.ts';
import type { KubeObject } from './object.ts';

/** Where and how the objects of a kind are stored. The kind itself is the version in which they are written. */
export interface KindStorage {
  /**
   * First part of the keys of its objects, one segment or more, unique among all kinds that are stored. By default the
   * plural, with the group unless that is one of Kubernetes. What kube-apiserver stores elsewhere, such as
   * `apiextensions.k8s.io/customresourcedefinitions`, names its place.
   */
  readonly prefix: string;
  /** Canonical JSON by default. */
  readonly form: StoredForm;
  /** Stored values are read alike by kinds with the same text; absent for a kind that never changes. */
  readonly shape?: string;
}

/**
 * How the bytes of objects in the store are read. Written are always the bytes of JSON that begins with kind, apiVersion and
 * metadata, and has the uid before labels and annotations: clients get the same bytes with the resourceVersion put in place.
 */
export interface StoredForm {
  /**
   * The bytes as which a stored value is served, and would be stored again: the same ones if it is up to date. Called for
   * each value that is read. Throws if it is no object of the kind.
   */
  renew(stored: Buffer, kind: StoredVersions): Renewed;
  /** The same in steps, for a large value. */
  renewInSteps(stored: Buffer, kind: StoredVersions): SyncTask<Renewed>;
}

export interface Renewed {
  readonly value: Buffer;
  /** Whether it is in another version than the present one, because its conversion has to wait. */
  readonly isFormer?: boolean;
  /** Its object, if it was decoded on the way. */
  readonly object?: KubeObject;
}

/** The versions in which values may be stored, the present one first. */
export interface StoredVersions {
  readonly versions: readonly ApiVersion[];
  readonly conversion: Conversion;
}
