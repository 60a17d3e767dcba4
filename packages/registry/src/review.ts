import type { Call, Clock } from '@cluster-apiserver/base';
import {
  formatTime,
  type KubeObject,
  managedFieldsAfterUpdate,
  type Review,
  type UserInfo,
} from '@cluster-apiserver/model';
import { emptyOf, withManagedFields } from './create.ts';
import { canonical, inNamespace } from './system-fields.ts';

export interface ReviewOptions {
  /** Undefined for reviews that lie in none. */
  readonly namespace: string | undefined;
  /** Who sends it, for the record of who owns which field. */
  readonly manager: string;
}

/** The whole meaning of "create" for what is answered and never stored. */
export async function answerReview(
  review: Review,
  incoming: KubeObject,
  asker: UserInfo,
  { namespace, manager }: ReviewOptions,
  clock: Clock,
  call: Call,
): Promise<KubeObject> {
  const placed = namespace === undefined ? incoming : inNamespace(incoming, namespace);
  const writer = { manager, apiVersion: review.apiVersion, time: formatTime(clock.now()) };
  const owners = managedFieldsAfterUpdate(review.schema, emptyOf(review), placed, writer);
  return canonical(review, await review.answer(withManagedFields(placed, owners), asker, call));
}
