import { type UnstoredKindDeclaration, defineUnstoredKind } from './unstored-kind.ts';
import type { FieldDeclarations } from '../schema/schema.ts';
import type { ObjectOf } from './object-of.ts';
import type { KubeObject } from './object.ts';
import type { EncodableKind } from './served-kind.ts';

/**
 * A subresource with a kind of its own, which is created, answered and never stored. Routes, discovery,
 * documents, decoding and forms follow from the declaration.
 */
export interface SubresourceDeclaration<F extends FieldDeclarations> extends UnstoredKindDeclaration<F> {
  /** The last segment of its path. */
  readonly name: string;
  /** Answers a request, which has the name and the namespace of the object. Throws a StatusError. */
  readonly create: (object: KubeObject, request: ObjectOf<F>, reports: SubresourceReports) => Promise<KubeObject>;
}

/** What a subresource needs of its request, and reports besides the response. */
export interface SubresourceReports {
  /** The metadata of an object of the core group, in the namespace of the request; undefined if there is none. */
  readonly find: (kind: string, name: string) => Promise<KubeObject['metadata'] | undefined>;
  /** The response must have no effect, and contain nothing that has one. */
  readonly dryRun: boolean;
  /** Adds a Warning header. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit event. */
  readonly annotate: (key: string, value: string) => void;
}

export interface Subresource extends EncodableKind {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly create: (object: KubeObject, request: KubeObject, reports: SubresourceReports) => Promise<KubeObject>;
}

export const defineSubresource = <F extends FieldDeclarations>(
  declaration: SubresourceDeclaration<F>,
): Subresource => ({
  ...defineUnstoredKind(declaration),
  name: declaration.name,
  verbs: ['create'],
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it only sees requests that the schema of these fields has decoded
  create: declaration.create as Subresource['create'],
});
