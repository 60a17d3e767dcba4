import type { Call } from '@cluster-apiserver/base';
import type { UserInfo } from '../access.ts';
import { type UnstoredKindDeclaration, defineUnstoredKind } from './unstored-kind.ts';
import type { FieldDeclarations } from '../schema/schema.ts';
import type { ObjectOf } from './object-of.ts';
import type { KubeObject } from './object.ts';
import type { ServedKind } from './served-kind.ts';

/**
 * A question to the server, at a path of its own: it is created, answered and never stored. Its route, discovery,
 * documents, decoding and forms follow from the declaration, as they do for kinds that are stored.
 */
export interface ReviewDeclaration<F extends FieldDeclarations> extends UnstoredKindDeclaration<F> {
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** The object as it was sent, with its answer. Throws a StatusError for a question that is none. */
  readonly answer: (question: ObjectOf<F>, asker: UserInfo, call: Call) => KubeObject | Promise<KubeObject>;
}

export interface Review extends ServedKind {
  readonly answer: (question: KubeObject, asker: UserInfo, call: Call) => KubeObject | Promise<KubeObject>;
}

export const defineReview = <F extends FieldDeclarations>(declaration: ReviewDeclaration<F>): Review => ({
  ...defineUnstoredKind(declaration),
  plural: declaration.plural,
  singular: declaration.singular,
  listKind: `${declaration.kind}List`,
  shortNames: [],
  namespaced: declaration.namespaced,
  verbs: ['create'],
  subresourceForms: [],
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it only sees reviews that the schema of these fields has decoded
  answer: declaration.answer as Review['answer'],
});
