import { getOwn, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import { badRequest, formatPath, type StatusError } from '@cluster-apiserver/model';
import { boundsOfKind, isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import {
  dropUnwritable,
  type ApiVersion,
  type FieldSubresource,
  fieldSubresourceOf,
  renameFields,
} from '@cluster-apiserver/model/kind';
import { type Applied, readAppliedInSteps } from '@cluster-apiserver/model/managed-fields';
import { PatchFormError } from '@cluster-apiserver/model/patch';
import { describeTypeFaultsInSteps, WrongTypeError } from '@cluster-apiserver/model/schema';
import { requireBoundedMembers } from '@cluster-apiserver/model/validation';
import { apply, type Resource } from '@cluster-apiserver/registry';
import { rejectUnparsable, parseYamlBody } from '../request-body/body-formats.ts';
import { type FieldValidation, reportFieldProblems, strictError } from '../request-body/field-validation.ts';
import { readBody } from '../request-body/read-body.ts';
import type { ApiResponse } from '../exchange.ts';
import { addWarning, type AuthenticatedContext } from '../request-context.ts';
import type { ResponseFormat } from '../encoding/negotiate.ts';
import { readApplyParameters } from '../query-parameters.ts';
import { objectResponse } from '../responses.ts';
import { readOperationOptions, namespacedNameOf, createRequester, type WriteChecks } from './requester.ts';

export const applyHandler =
  (resource: Resource, checks: WriteChecks) =>
  async (context: AuthenticatedContext, format: ResponseFormat): Promise<ApiResponse> => {
    const { request, info, call } = context;
    const body = await readBody(context);
    const { dryRun, manager, force, fieldValidation } = readApplyParameters(request, info);
    const warn = (text: string): void => addWarning(context, text);
    const subresource = fieldSubresourceOf(resource.served, info.resource?.subresource);
    const configuration = await runTask(
      resource.clock,
      call,
      readConfiguration(resource, subresource, context, body, fieldValidation, warn),
      body.length >= largeBytesMin,
    );
    const { namespace, name } = namespacedNameOf(context);
    const requester = createRequester(context, checks, readOperationOptions('PatchOptions', info));
    const options = { namespace, subresource, requester, dryRun, manager, force, warn };
    const { outcome, created } = await apply(resource, name, configuration, options, call);
    return objectResponse(context, resource, format, created ? 201 : 200, outcome);
  };

function* readConfiguration(
  { kind: stored, served: kind }: Resource,
  subresource: FieldSubresource | undefined,
  { audit }: AuthenticatedContext,
  body: Buffer,
  validation: FieldValidation,
  warn: (text: string) => void,
): SyncTask<Applied> {
  const { value, faults, hasMoreDocuments } = yield* rejectUnparsable(
    parseYamlBody(body, boundsOfKind(kind)),
    'error decoding YAML',
  );
  yield;
  const unknown: string[] = [];
  if (isJsonObject(value)) requireBoundedMembers(kind, value);
  requireTypeNames(kind, value);
  audit?.logRequestObject(value, body.length);
  const writable = dropUnwritable(kind, subresource, value);
  const refuse = (): SyncTask<StatusError | undefined> => refuseTypes(kind, value, writable);
  try {
    const configuration = yield* readAppliedInSteps(kind.schema, writable, (path) => unknown.push(formatPath(path)));
    // kube-apiserver cannot merge a field that the schema does not name. Those of built-in kinds are treated as in other writes.
    const isRefused = unknown.length > 0 && (kind.isCustom || validation === 'Strict');
    // It reports duplicates in other words, and then no unknown fields.
    const refused = isRefused && faults.length === 0 ? yield* refuse() : undefined;
    if (refused) throw refused;
    const where = faults.length > 0 ? 'error strict decoding YAML: error converting YAML to JSON: ' : strictError;
    reportFieldProblems({ faults, hasMoreDocuments, unknown, where }, isRefused ? 'Strict' : validation, warn);
    yield;
    if (stored === kind) return configuration;
    const renamed = {
      ...renameFields(writable, kind.fieldNames.toStored),
      kind: stored.kind,
      apiVersion: stored.apiVersion,
    };
    // The annotation of client-side apply repeats what was written, in the version in which it was written.
    return { ...(yield* readAppliedInSteps(stored.schema, renamed, () => {})), configuration: value };
  } catch (error) {
    if (error instanceof WrongTypeError || error instanceof PatchFormError)
      throw (
        (yield* refuse()) ??
        badRequest(`the applied configuration is not a valid ${kind.kind}: ${error.message}`, error)
      );
    throw error;
  }
}

/** Undefined if the fields and types are those of the kind. */
function* refuseTypes(
  kind: ApiVersion,
  applied: JsonObject,
  configuration: JsonObject,
): SyncTask<StatusError | undefined> {
  const faults = yield* describeTypeFaultsInSteps(kind.schema, configuration);
  if (faults === undefined) return undefined;
  return badRequest(`failed to create typed patch object (${showObject(applied)}): ${faults}`);
}

/** As errors of kube-apiserver name the object. */
function showObject({ apiVersion, kind, metadata }: JsonObject): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {};
  return `${show(namespace)}/${show(name)}; ${showType(apiVersion, kind)}`;
}

/** The core group is empty. */
function showType(apiVersion: unknown, kind: unknown): string {
  const version = show(apiVersion);
  return `${version.includes('/') ? version : `/${version}`}, Kind=${show(kind)}`;
}

/** A name, which may be missing, or anything else that a client has sent. */
function show(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, shownCharactersMax) : '';
}

const shownCharactersMax = 253;

/** An applied configuration must name its kind and version, since its fields have a meaning only in that version. */
function requireTypeNames(kind: ApiVersion, value: unknown): asserts value is JsonObject {
  if (!isJsonObject(value)) throw badRequest('error decoding YAML: the configuration to apply must be an object');
  const [apiVersion, name] = [getOwn(value, 'apiVersion'), getOwn(value, 'kind')];
  if (apiVersion !== kind.apiVersion || name !== kind.kind)
    throw badRequest(`invalid object type: ${showType(apiVersion, name)}`);
  const metadata = getOwn(value, 'metadata');
  if (isJsonObject(metadata) && (getOwn(metadata, 'managedFields') ?? null) !== null)
    throw badRequest('metadata.managedFields must be nil');
}
