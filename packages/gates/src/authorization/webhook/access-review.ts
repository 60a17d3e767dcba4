import { keepText } from '@cluster-apiserver/base';
import type { AccessAttributes, AccessSelector, ResourceAttributes } from '@cluster-apiserver/model';
import type { JsonObject } from '@cluster-apiserver/model/json';
import { boolean, jsonField, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { decodeAnswer, WebhookError } from '../../webhook/webhook-error.ts';

export type ReviewVersion = 'v1' | 'v1beta1';

/** The spec of a SubjectAccessReview of v1. Empty fields are undefined, so that JSON omits them. */
export interface ReviewSpec {
  readonly resourceAttributes?: ReviewedResource;
  readonly nonResourceAttributes?: { readonly path: string; readonly verb: string };
  readonly user: string | undefined;
  readonly groups: readonly string[] | undefined;
  readonly extra: Readonly<Record<string, readonly string[]>> | undefined;
  readonly uid: string | undefined;
}

export interface ReviewedResource {
  readonly namespace: string | undefined;
  readonly verb: string;
  readonly group: string | undefined;
  readonly version: string | undefined;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly name: string | undefined;
  readonly fieldSelector: AccessSelector | undefined;
  readonly labelSelector: AccessSelector | undefined;
}

const statusSchema = object({
  allowed: jsonField(boolean, '', 'required'),
  denied: jsonField(boolean, '', 'always'),
  reason: jsonField(string, '', 'always'),
});
const reviewSchema = object({
  apiVersion: jsonField(string, ''),
  kind: jsonField(string, ''),
  status: jsonField(statusSchema, '', 'given'),
});

/** The decision of a webhook. */
export type ReviewStatus = Readonly<ValueOf<typeof statusSchema>>;

/** Every field that is read here must be part of the cache key (`attributes-key.ts`). */
export function toReviewSpec({ user, verb, path, resource }: AccessAttributes): ReviewSpec {
  return {
    ...(resource
      ? { resourceAttributes: toReviewedResource(verb, resource) }
      : { nonResourceAttributes: { path, verb } }),
    user: user.name || undefined,
    groups: user.groups.length > 0 ? user.groups : undefined,
    extra: user.extra && sortExtra(user.extra),
    uid: user.uid || undefined,
  };
}

function sortExtra(extra: Readonly<Record<string, readonly string[]>>): ReviewSpec['extra'] {
  const entries = Object.entries(extra);
  return entries.length === 0
    ? undefined
    : Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function toReviewedResource(verb: string, resource: ResourceAttributes): ReviewedResource {
  return {
    namespace: resource.namespace || undefined,
    verb,
    group: resource.group || undefined,
    version: resource.version || undefined,
    resource: resource.resource,
    subresource: resource.subresource || undefined,
    name: resource.name || undefined,
    // As requirements, as kube-apiserver sends them.
    fieldSelector: resource.fieldSelector,
    labelSelector: resource.labelSelector,
  };
}

export function createReview(spec: ReviewSpec, version: ReviewVersion): object {
  const { groups, ...rest } = spec;
  return {
    apiVersion: apiVersionOf(version),
    kind: 'SubjectAccessReview',
    spec: version === 'v1' ? spec : { ...rest, group: groups }, // the one field whose name differs
  };
}

const apiVersionOf = (version: ReviewVersion): string => `authorization.k8s.io/${version}`;

/** Reasons are sent to clients and kept in memory with the decision. */
const reasonCharactersMax = 4_096;

/** Throws a WebhookError for a malformed response. */
export function parseStatus(answer: JsonObject, version: ReviewVersion): ReviewStatus {
  const { apiVersion, kind, status } = decodeAnswer(reviewSchema, answer);
  if (apiVersion !== apiVersionOf(version) || kind !== 'SubjectAccessReview')
    throw new WebhookError(`the response is not a SubjectAccessReview of ${version}`);
  if (!status) throw new WebhookError('the response has no status');
  return { ...status, reason: keepText(status.reason, reasonCharactersMax) };
}
