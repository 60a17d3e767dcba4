import type { Call } from '@cluster-apiserver/base';
import type { UserInfo } from '../access.ts';
import { type AnsweredForm, answeredKind } from './unstored-kind.ts';
import type { KubeObject } from './object.ts';
import type { ServedKind } from './served-kind.ts';

/**
 * A question to the server, at a path of its own: it is created, answered and never stored. Its route, discovery,
 * documents, decoding and forms follow from the declaration, as they do for kinds that are stored.
 */
export interface ReviewForm<T extends KubeObject> extends AnsweredForm {
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** The object as it was sent, with its answer. Throws a StatusError for a question that is none. */
  readonly answer: (question: T, asker: UserInfo, call: Call) => T | Promise<T>;
}

export interface Review extends ServedKind {
  readonly answer: ReviewForm<KubeObject>['answer'];
}

export const defineReview = <T extends KubeObject>(form: ReviewForm<T>): Review => ({
  ...answeredKind(form),
  plural: form.plural,
  singular: form.singular,
  shortNames: [],
  namespaced: form.namespaced,
  verbs: ['create'],
  subresourceForms: [],
  // It only ever sees objects that the schema has decoded, which makes them T.
  answer: form.answer as unknown as Review['answer'],
});
