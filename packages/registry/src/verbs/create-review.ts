import { runSync, type Clock } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import type { KubeObject, Review } from '@cluster-apiserver/model/kind';
import { managedFieldsAfterUpdate } from '@cluster-apiserver/model/managed-fields';
import { type AdmissionOptions, runAdmission, type Requester } from '../write/admission.ts';
import { emptyObjectOf, withManagedFields } from '../write/new-object.ts';
import { canonical, inNamespace, withoutIdentity } from '../write/system-fields.ts';

export interface ReviewOptions extends AdmissionOptions {
  readonly requester: Requester;
  /** The field manager. */
  readonly manager: string;
}

/** Implements "create" for reviews, which are answered and never stored. */
export async function createReview(
  review: Review,
  incoming: KubeObject,
  options: ReviewOptions,
  clock: Clock,
): Promise<KubeObject> {
  const { namespace, manager, requester } = options;
  const asked = withoutIdentity(incoming);
  const given = namespace === undefined ? asked : inNamespace(asked, namespace);
  const placed = await runAdmission({ served: review, kind: review }, options, given);
  const writer = { manager, apiVersion: review.apiVersion, time: formatTime(clock.now()) };
  const owners = runSync(managedFieldsAfterUpdate(review.schema, emptyObjectOf(review), placed, writer));
  return canonical(review, await review.answer(withManagedFields(placed, owners), requester.user, requester.call));
}
