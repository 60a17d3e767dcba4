import { type AnsweredForm, answeredKind } from './unstored-kind.ts';
import type { KubeObject } from './object.ts';
import type { SpokenKind } from './served-kind.ts';

/**
 * Something behind an object that speaks a kind of its own: it is sent, answered and never stored. Routes, discovery,
 * documents, decoding and forms follow from the declaration.
 */
export interface SubresourceForm<T extends KubeObject> extends AnsweredForm {
  /** The last segment of its path. */
  readonly name: string;
  /** What is answered to a request, which has the name and the namespace of the object. Throws a StatusError. */
  readonly create: (object: KubeObject, request: T, warn: (text: string) => void) => Promise<T>;
}

export interface Subresource extends SpokenKind {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly create: SubresourceForm<KubeObject>['create'];
}

export const defineSubresource = <T extends KubeObject>(form: SubresourceForm<T>): Subresource => ({
  ...answeredKind(form),
  name: form.name,
  verbs: ['create'],
  // It only ever sees objects that the schema has decoded, which makes them T.
  create: form.create as unknown as Subresource['create'],
});
