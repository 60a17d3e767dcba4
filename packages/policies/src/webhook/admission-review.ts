import type { StatusDetails } from '@cluster-apiserver/model';
import {
  boolean,
  bytes,
  decode,
  jsonField,
  list,
  object,
  statusSchema,
  string,
  stringMap,
  type ValueOf,
  WrongTypeError,
} from '@cluster-apiserver/model/schema';
import { WebhookCallError, type WebhookResult } from './errors.ts';

/** Supported versions of AdmissionReview. */
const versions = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof versions)[number];

/** The first supported version that the webhook accepts; validation requires one. */
export const chooseReviewVersion = (understood: readonly string[]): ReviewVersion | undefined =>
  understood.flatMap((name) => versions.find((version) => version === name) ?? [])[0];

export const createReview = (version: ReviewVersion, request: object): object => ({
  kind: 'AdmissionReview',
  apiVersion: `admission.k8s.io/${version}`,
  request,
});

/** The response of a webhook. */
export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly result: WebhookResult;
  /** A JSON patch; empty if nothing changes. */
  readonly patch: Buffer;
  readonly auditAnnotations: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

export interface ExpectedResponse {
  readonly version: ReviewVersion;
  readonly uid: string;
  /** Whether a patch is allowed. */
  readonly isMutating: boolean;
}

/** Limits per response, because it is sent to the client and written to the audit log. */
const messageCharactersMax = 16 * 1024;
const warningsMax = 100;
const annotationsMax = 100;
const annotationCharactersMax = 10 * 1024;
const causesMax = 100;

const responseSchema = object({
  uid: jsonField(string, '', 'always'),
  allowed: jsonField(boolean, '', 'always'),
  status: jsonField(statusSchema, ''),
  patch: jsonField(bytes, '', 'always'),
  patchType: jsonField(string, '', 'given'),
  auditAnnotations: jsonField(stringMap, '', 'always'),
  warnings: jsonField(list(string, 'atomic'), '', 'always'),
});
const reviewSchema = object({
  kind: jsonField(string, '', 'always'),
  apiVersion: jsonField(string, '', 'always'),
  response: jsonField(responseSchema, '', 'given'),
});
type Review = ValueOf<typeof reviewSchema>;
type Response = ValueOf<typeof responseSchema>;

/** Throws a WebhookCallError for an invalid response. */
export function parseResponse(body: unknown, expected: ExpectedResponse): AdmissionResponse {
  const review = decodeReview(body);
  const { response } = review;
  if (!response) throw createResponseError('webhook response was absent');
  // Version v1beta1 never required either of them.
  if (expected.version === 'v1') requireIdentity(review, response, expected.uid);
  const { code = 0, reason = '', message = '', details } = response.status ?? {};
  return {
    allowed: response.allowed,
    result: { code, reason: shorten(reason), message: shorten(message), details: details && boundDetails(details) },
    patch: readPatch(response, expected),
    auditAnnotations: new Map(
      Object.entries(response.auditAnnotations)
        .slice(0, annotationsMax)
        .map(([key, value]) => [key.slice(0, annotationCharactersMax), value.slice(0, annotationCharactersMax)]),
    ),
    warnings: response.warnings.slice(0, warningsMax),
  };
}

function decodeReview(body: unknown): Review {
  try {
    return decode(reviewSchema, body, () => {});
  } catch (error) {
    if (error instanceof WrongTypeError) throw createResponseError(error.message);
    throw error;
  }
}

function requireIdentity({ apiVersion, kind }: Review, response: Response, uid: string): void {
  if (response.uid !== uid)
    throw createResponseError(`expected response.uid=${JSON.stringify(uid)}, got ${quote(response.uid)}`);
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    throw createResponseError(
      `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${quote(apiVersion)}, Kind=${quote(kind)}`,
    );
}

function readPatch({ patch, patchType }: Response, { version, isMutating }: ExpectedResponse): Buffer {
  if (version === 'v1beta1') return isMutating ? Buffer.from(patch, 'base64') : none;
  if (!isMutating) {
    if (patch !== '') throw createResponseError('validating webhook may not return response.patch');
    if (patchType !== undefined) throw createResponseError('validating webhook may not return response.patchType');
    return none;
  }
  if (patch !== '' && patchType === undefined)
    throw createResponseError('webhook returned response.patch but not response.patchType');
  if (patch === '' && patchType !== undefined)
    throw createResponseError('webhook returned response.patchType but not response.patch');
  if (patchType === '') throw createResponseError('webhook returned invalid response.patchType of ""');
  if (patchType !== undefined && patchType !== 'JSONPatch')
    throw new WebhookCallError(`unsupported patch type ${quote(patchType)}`);
  return Buffer.from(patch, 'base64');
}

const none = Buffer.alloc(0);

const shorten = (text: string): string => text.slice(0, messageCharactersMax);

/** Without empty members, as clients get it. */
function boundDetails({ causes = [], retryAfterSeconds = 0, ...details }: Details): StatusDetails {
  const texts = Object.entries(details).map(([name, value]) => [name, shorten(value)]);
  return {
    ...Object.fromEntries(texts),
    ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
    ...(causes.length > 0 && {
      causes: causes.slice(0, causesMax).map(({ message = '', reason, field }) => ({
        ...(reason !== undefined && { reason: shorten(reason) }),
        message: shorten(message),
        ...(field !== undefined && { field: shorten(field) }),
      })),
    }),
  };
}
type Details = NonNullable<NonNullable<Response['status']>['details']>;

const createResponseError = (problem: string): WebhookCallError =>
  new WebhookCallError(`received invalid webhook response: ${problem}`);

/** Maximum length of quoted webhook output in error messages. */
const quotedCharactersMax = 256;
const quote = (text: string): string => JSON.stringify(text.slice(0, quotedCharactersMax));
