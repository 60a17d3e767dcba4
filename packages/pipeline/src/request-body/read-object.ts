import { type Call, type Clock, getOwn, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import { badRequest, formatPath, invalid, Problems, type StatusError } from '@cluster-apiserver/model';
import type { TypeNames } from '@cluster-apiserver/model/codec';
import {
  boundsOfKind,
  isJsonObject,
  type JsonObject,
  type Parsed,
  type TextFault,
  NestedTooDeepError,
  nestingMax,
} from '@cluster-apiserver/model/json';
import type { KubeObject, EncodableKind } from '@cluster-apiserver/model/kind';
import { withExplicitReset } from '@cluster-apiserver/model/managed-fields';
import { decodeInSteps, WrongTypeError } from '@cluster-apiserver/model/schema';
import { requireBoundedMembers } from '@cluster-apiserver/model/validation';
import { type BodyFormat, rejectUnparsable, type SchemaOf } from './body-formats.ts';
import { type FieldValidation, reportFieldProblems, strictError } from './field-validation.ts';

/** Reads an object of the kind in canonical form. Throws a StatusError if the body is invalid. */
export function readObject(
  kind: EncodableKind,
  body: Buffer,
  format: BodyFormat,
  validation: FieldValidation,
  warn: (text: string) => void,
  clock: Clock,
  call: Call,
): KubeObject | Promise<KubeObject> {
  return runTask(clock, call, parseObject(kind, body, format, validation, warn), body.length >= largeBytesMin);
}

function* parseObject(
  kind: EncodableKind,
  body: Buffer,
  format: BodyFormat,
  validation: FieldValidation,
  warn: (text: string) => void,
): SyncTask<KubeObject> {
  const isOne = ({ kind: given, apiVersion }: Partial<TypeNames>): boolean =>
    (given || kind.kind) === kind.kind && (apiVersion || kind.apiVersion) === kind.apiVersion;
  const schemaOf: SchemaOf = (names) => (isOne(names) ? kind.schema : undefined);
  const parsed = yield* rejectUnparsable(
    format(body, schemaOf, boundsOfKind(kind)),
    `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind`,
  );
  yield;
  return yield* decodeObject(kind, parsed, validation, warn);
}

function* decodeObject(
  kind: EncodableKind,
  parsed: Parsed,
  validation: FieldValidation,
  warn: (text: string) => void,
): SyncTask<KubeObject> {
  if (isJsonObject(parsed.value)) requireBoundedMembers(kind, parsed.value);
  const typed = withExplicitReset(kind, withTypeNames(kind, parsed.value));
  const unknown: string[] = [];
  try {
    const object = yield* decodeInSteps(kind.schema, typed, (path) => unknown.push(formatPath(path)));
    requireKnownFieldsNotDeep(kind, parsed, unknown);
    const faults = withoutFaultsIn(unknown, parsed.faults);
    const where = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${strictError}`;
    reportFieldProblems({ faults, hasMoreDocuments: parsed.hasMoreDocuments, unknown, where }, validation, warn);
    return object;
  } catch (error) {
    if (error instanceof WrongTypeError) requireKnownFieldsNotDeep(kind, parsed, []);
    if (error instanceof WrongTypeError)
      throw badRequest(
        `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${error.message}`,
        error,
      );
    throw error;
  }
}

/** Unknown fields have been dropped, so only known ones must not be nested too deep. */
function requireKnownFieldsNotDeep(kind: EncodableKind, { deepPaths = [] }: Parsed, unknown: readonly string[]): void {
  const deep = deepPaths.find((path) => !unknown.some((outer) => isWithin(path, outer)));
  if (deep !== undefined)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${new NestedTooDeepError(deep, nestingMax).message}`,
    );
}

/** Fields below an unknown one are not reported separately. */
function withoutFaultsIn(unknown: readonly string[], faults: readonly TextFault[]): readonly TextFault[] {
  if (faults.length === 0 || unknown.length === 0) return faults;
  const outer = new Set(unknown);
  return faults.filter(({ path }) => path === undefined || !prefixesOf(path).some((prefix) => outer.has(prefix)));
}

/** The path, and those of all that it is in. The scan of the text has bounded the length of all paths together. */
const prefixesOf = (path: string): readonly string[] => [
  ...[...path.matchAll(/[.[]/g)].map(({ index }) => path.slice(0, index)),
  path,
];

const isWithin = (path: string | undefined, outer: string): boolean =>
  path !== undefined && (path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`));

/** Returns undefined if the body does not have the name. */
function readTypeName(kind: EncodableKind, value: JsonObject | null, name: keyof TypeNames): string | undefined {
  const given = value?.[name] ?? undefined;
  if (given !== undefined && typeof given !== 'string')
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): ${name} must be a string`);
  return given;
}

/** The path implies both, but kube-apiserver cannot read an object without a Go type that names none. */
function impliedName(kind: EncodableKind, name: keyof TypeNames): string {
  if (!kind.isCustom) return kind[name];
  if (name === 'apiVersion') return '';
  throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): Object 'Kind' is missing`);
}

function wrongKind(kind: EncodableKind, given: string, value: JsonObject | null): StatusError {
  const metadata = value && getOwn(value, 'metadata');
  const name = isJsonObject(metadata) ? getOwn(metadata, 'name') : undefined;
  const problems = new Problems().at('kind').invalid(given, `must be ${kind.kind}`);
  return invalid({ group: kind.group, kind: given }, typeof name === 'string' ? name : '', problems);
}

/** Adds the kind and version of the endpoint, unless the body names others, which is an error. */
function withTypeNames(kind: EncodableKind, value: unknown): unknown {
  if (value !== null && !isJsonObject(value))
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): expected an object`);
  const namedKind = readTypeName(kind, value, 'kind') || impliedName(kind, 'kind');
  const namedVersion = readTypeName(kind, value, 'apiVersion') || impliedName(kind, 'apiVersion');
  if (namedKind !== kind.kind || namedVersion !== kind.apiVersion) {
    if (kind.isCustom && namedVersion === kind.apiVersion) throw wrongKind(kind, namedKind, value);
    if (kind.isCustom)
      throw badRequest(
        `the API version in the data (${namedVersion}) does not match the expected API version (${kind.apiVersion})`,
      );
    throw badRequest(
      `${namedKind} in version ${JSON.stringify(namedVersion)} cannot be handled as a ${kind.kind}: this endpoint takes ${kind.kind} in version ${JSON.stringify(kind.apiVersion)}`,
    );
  }
  return { ...value, kind: kind.kind, apiVersion: kind.apiVersion };
}
