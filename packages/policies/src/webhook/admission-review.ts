import { getOwn } from '@cluster-apiserver/base';
import { WebhookCallError } from './errors.ts';

/** Supported versions of AdmissionReview. */
const versions = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof versions)[number];

/** The first supported version that the webhook accepts; validation requires one. */
export const reviewVersionOf = (understood: readonly string[]): ReviewVersion | undefined =>
  understood.flatMap((name) => versions.find((version) => version === name) ?? [])[0];

export const reviewOf = (version: ReviewVersion, request: object): object => ({
  kind: 'AdmissionReview',
  apiVersion: `admission.k8s.io/${version}`,
  request,
});

/** The answer of a webhook. */
export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly result: WebhookResult;
  /** A JSON patch; empty if nothing changes. */
  readonly patch: Buffer;
  readonly auditAnnotations: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
}

/** The Status by which a webhook explains a denial. Strings are empty and the code is 0 if it says nothing. */
export interface WebhookResult {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: ResultDetails | undefined;
}

export interface ResultDetails {
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  readonly uid: string;
  readonly retryAfterSeconds: number;
  readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[];
}

export interface Expected {
  readonly version: ReviewVersion;
  readonly uid: string;
  /** Whether a patch is allowed. */
  readonly isMutating: boolean;
}

/** Per response. More than anybody reads, and little enough to send to clients and to keep in an audit log. */
const messageCharactersMax = 16 * 1024;
const warningsMax = 100;
const annotationsMax = 100;
const annotationCharactersMax = 10 * 1024;
const causesMax = 100;

/** Throws a WebhookCallError for a review that is no valid answer. */
export function responseIn(review: unknown, expected: Expected): AdmissionResponse {
  const outer = objectIn(review, 'the body');
  const given = getOwn(outer, 'response') ?? undefined;
  if (given === undefined) throw invalid('webhook response was absent');
  const response = objectIn(given, 'response');
  // Version v1beta1 never required either of them.
  if (expected.version === 'v1') requireIdentity(outer, response, expected.uid);
  return {
    allowed: booleanIn(response, 'allowed'),
    result: resultIn(response),
    patch: patchIn(response, expected),
    auditAnnotations: annotationsIn(response),
    warnings: listIn(response, 'warnings', warningsMax).map((warning) => stringOf(warning, 'response.warnings')),
  };
}

type Values = Readonly<Record<string, unknown>>;

function requireIdentity(outer: Values, response: Values, uid: string): void {
  const given = stringIn(response, 'uid');
  if (given !== uid) throw invalid(`expected response.uid=${JSON.stringify(uid)}, got ${quoted(given)}`);
  const [apiVersion, kind] = [stringIn(outer, 'apiVersion'), stringIn(outer, 'kind')];
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    throw invalid(
      `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${quoted(apiVersion)}, Kind=${quoted(kind)}`,
    );
}

function patchIn(response: Values, { version, isMutating }: Expected): Buffer {
  const patch = bytesIn(response, 'patch');
  if (version === 'v1beta1') return isMutating ? patch : none;
  const type = getOwn(response, 'patchType') ?? undefined;
  if (!isMutating) {
    if (patch.length > 0) throw invalid('validating webhook may not return response.patch');
    if (type !== undefined) throw invalid('validating webhook may not return response.patchType');
    return none;
  }
  if (patch.length > 0 && type === undefined)
    throw invalid('webhook returned response.patch but not response.patchType');
  if (patch.length === 0 && type !== undefined)
    throw invalid('webhook returned response.patchType but not response.patch');
  if (type === '') throw invalid('webhook returned invalid response.patchType of ""');
  if (type !== undefined && type !== 'JSONPatch')
    throw new WebhookCallError(`unsupported patch type ${quoted(stringOf(type, 'response.patchType'))}`);
  return patch;
}

const none = Buffer.alloc(0);

function resultIn(response: Values): WebhookResult {
  const status = objectIn(getOwn(response, 'status') ?? {}, 'response.status');
  const details = getOwn(status, 'details') ?? undefined;
  return {
    code: integerIn(status, 'code'),
    reason: stringIn(status, 'reason').slice(0, messageCharactersMax),
    message: stringIn(status, 'message').slice(0, messageCharactersMax),
    details: details === undefined ? undefined : detailsIn(objectIn(details, 'response.status.details')),
  };
}

const detailsIn = (details: Values): ResultDetails => ({
  name: stringIn(details, 'name').slice(0, messageCharactersMax),
  group: stringIn(details, 'group').slice(0, messageCharactersMax),
  kind: stringIn(details, 'kind').slice(0, messageCharactersMax),
  uid: stringIn(details, 'uid').slice(0, messageCharactersMax),
  retryAfterSeconds: integerIn(details, 'retryAfterSeconds'),
  causes: listIn(details, 'causes', causesMax).map((entry) => {
    const cause = objectIn(entry, 'response.status.details.causes');
    return {
      reason: stringIn(cause, 'reason').slice(0, messageCharactersMax),
      message: stringIn(cause, 'message').slice(0, messageCharactersMax),
      field: stringIn(cause, 'field').slice(0, messageCharactersMax),
    };
  }),
});

function annotationsIn(response: Values): ReadonlyMap<string, string> {
  const given = objectIn(getOwn(response, 'auditAnnotations') ?? {}, 'response.auditAnnotations');
  return new Map(
    Object.entries(given)
      .slice(0, annotationsMax)
      .map(([key, value]) => [
        key.slice(0, annotationCharactersMax),
        stringOf(value, 'response.auditAnnotations').slice(0, annotationCharactersMax),
      ]),
  );
}

/** Readers of members, for which null is the same as absent. */
const memberIn = (values: Values, name: string): unknown => getOwn(values, name) ?? undefined;

const stringIn = (values: Values, name: string): string => stringOf(memberIn(values, name) ?? '', name);

function stringOf(value: unknown, name: string): string {
  if (typeof value !== 'string') throw wrongType(name, 'a string');
  return value;
}

function booleanIn(values: Values, name: string): boolean {
  const value = memberIn(values, name) ?? false;
  if (typeof value !== 'boolean') throw wrongType(name, 'a boolean');
  return value;
}

function integerIn(values: Values, name: string): number {
  const value = memberIn(values, name) ?? 0;
  if (typeof value !== 'number' || (value | 0) !== value) throw wrongType(name, 'a 32-bit integer');
  return value;
}

function listIn(values: Values, name: string, max: number): readonly unknown[] {
  const value = memberIn(values, name) ?? [];
  if (!Array.isArray(value)) throw wrongType(name, 'a list');
  return value.slice(0, max);
}

function bytesIn(values: Values, name: string): Buffer {
  const text = stringIn(values, name).replaceAll(/[\r\n]/g, '');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw wrongType(name, 'base64');
  return Buffer.from(text, 'base64');
}

function objectIn(value: unknown, name: string): Values {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(name, 'an object');
  return value as Values;
}

const invalid = (problem: string): WebhookCallError =>
  new WebhookCallError(`received invalid webhook response: ${problem}`);
const wrongType = (name: string, wanted: string): WebhookCallError => invalid(`${name} is not ${wanted}`);

/** Of text from a webhook, in error messages. */
const quotedCharactersMax = 256;
const quoted = (text: string): string => JSON.stringify(text.slice(0, quotedCharactersMax));
