import { getOwn } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import { type ResultDetails, WebhookCallError, type WebhookResult } from './errors.ts';

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

/** Throws a WebhookCallError for an invalid response. */
export function parseResponse(review: unknown, expected: ExpectedResponse): AdmissionResponse {
  const outer = requireObject(review, 'the body');
  const given = getOwn(outer, 'response') ?? undefined;
  if (given === undefined) throw createResponseError('webhook response was absent');
  const response = requireObject(given, 'response');
  // Version v1beta1 never required either of them.
  if (expected.version === 'v1') requireIdentity(outer, response, expected.uid);
  return {
    allowed: getBoolean(response, 'allowed'),
    result: parseResult(response),
    patch: parsePatch(response, expected),
    auditAnnotations: parseAnnotations(response),
    warnings: getList(response, 'warnings', warningsMax).map((warning) => requireString(warning, 'response.warnings')),
  };
}

function requireIdentity(outer: JsonObject, response: JsonObject, uid: string): void {
  const given = getString(response, 'uid');
  if (given !== uid) throw createResponseError(`expected response.uid=${JSON.stringify(uid)}, got ${quote(given)}`);
  const [apiVersion, kind] = [getString(outer, 'apiVersion'), getString(outer, 'kind')];
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    throw createResponseError(
      `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${quote(apiVersion)}, Kind=${quote(kind)}`,
    );
}

function parsePatch(response: JsonObject, { version, isMutating }: ExpectedResponse): Buffer {
  const patch = getBytes(response, 'patch');
  if (version === 'v1beta1') return isMutating ? patch : none;
  const type = getOwn(response, 'patchType') ?? undefined;
  if (!isMutating) {
    if (patch.length > 0) throw createResponseError('validating webhook may not return response.patch');
    if (type !== undefined) throw createResponseError('validating webhook may not return response.patchType');
    return none;
  }
  if (patch.length > 0 && type === undefined)
    throw createResponseError('webhook returned response.patch but not response.patchType');
  if (patch.length === 0 && type !== undefined)
    throw createResponseError('webhook returned response.patchType but not response.patch');
  if (type === '') throw createResponseError('webhook returned invalid response.patchType of ""');
  if (type !== undefined && type !== 'JSONPatch')
    throw new WebhookCallError(`unsupported patch type ${quote(requireString(type, 'response.patchType'))}`);
  return patch;
}

const none = Buffer.alloc(0);

function parseResult(response: JsonObject): WebhookResult {
  const status = requireObject(getOwn(response, 'status') ?? {}, 'response.status');
  const details = getOwn(status, 'details') ?? undefined;
  return {
    code: getInteger(status, 'code'),
    reason: getString(status, 'reason').slice(0, messageCharactersMax),
    message: getString(status, 'message').slice(0, messageCharactersMax),
    details: details === undefined ? undefined : parseDetails(requireObject(details, 'response.status.details')),
  };
}

const parseDetails = (details: JsonObject): ResultDetails => ({
  name: getString(details, 'name').slice(0, messageCharactersMax),
  group: getString(details, 'group').slice(0, messageCharactersMax),
  kind: getString(details, 'kind').slice(0, messageCharactersMax),
  uid: getString(details, 'uid').slice(0, messageCharactersMax),
  retryAfterSeconds: getInteger(details, 'retryAfterSeconds'),
  causes: getList(details, 'causes', causesMax).map((entry) => {
    const cause = requireObject(entry, 'response.status.details.causes');
    return {
      reason: getString(cause, 'reason').slice(0, messageCharactersMax),
      message: getString(cause, 'message').slice(0, messageCharactersMax),
      field: getString(cause, 'field').slice(0, messageCharactersMax),
    };
  }),
});

function parseAnnotations(response: JsonObject): ReadonlyMap<string, string> {
  const given = requireObject(getOwn(response, 'auditAnnotations') ?? {}, 'response.auditAnnotations');
  return new Map(
    Object.entries(given)
      .slice(0, annotationsMax)
      .map(([key, value]) => [
        key.slice(0, annotationCharactersMax),
        requireString(value, 'response.auditAnnotations').slice(0, annotationCharactersMax),
      ]),
  );
}

/** Null is equivalent to absent. */
const getMember = (values: JsonObject, name: string): unknown => getOwn(values, name) ?? undefined;

const getString = (values: JsonObject, name: string): string => requireString(getMember(values, name) ?? '', name);

function requireString(value: unknown, name: string): string {
  if (typeof value !== 'string') throw createTypeError(name, 'a string');
  return value;
}

function getBoolean(values: JsonObject, name: string): boolean {
  const value = getMember(values, name) ?? false;
  if (typeof value !== 'boolean') throw createTypeError(name, 'a boolean');
  return value;
}

function getInteger(values: JsonObject, name: string): number {
  const value = getMember(values, name) ?? 0;
  if (typeof value !== 'number' || (value | 0) !== value) throw createTypeError(name, 'a 32-bit integer');
  return value;
}

function getList(values: JsonObject, name: string, max: number): readonly unknown[] {
  const value = getMember(values, name) ?? [];
  if (!Array.isArray(value)) throw createTypeError(name, 'a list');
  return value.slice(0, max);
}

function getBytes(values: JsonObject, name: string): Buffer {
  const text = getString(values, name).replaceAll(/[\r\n]/g, '');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw createTypeError(name, 'base64');
  return Buffer.from(text, 'base64');
}

function requireObject(value: unknown, name: string): JsonObject {
  if (!isJsonObject(value)) throw createTypeError(name, 'an object');
  return value;
}

const createResponseError = (problem: string): WebhookCallError =>
  new WebhookCallError(`received invalid webhook response: ${problem}`);
const createTypeError = (name: string, wanted: string): WebhookCallError =>
  createResponseError(`${name} is not ${wanted}`);

/** Maximum length of quoted webhook output in error messages. */
const quotedCharactersMax = 256;
const quote = (text: string): string => JSON.stringify(text.slice(0, quotedCharactersMax));
