import { getOwn, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import {
  type Applied,
  badRequest,
  dropUnwritable,
  type Kind,
  type Part,
  partOf,
  PatchFormError,
  readApplied,
  type View,
  WrongTypeError,
} from '@cluster-apiserver/model';
import { apply, type Resource } from '@cluster-apiserver/registry';
import { type FieldValidation, readable, readBody, report, unknownField, yaml } from '../body.ts';
import type { ApiResponse } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import type { Form } from '../forms/negotiate.ts';
import { applyParameters } from '../options.ts';
import { objectResponse } from '../respond.ts';
import { operationOptions, placeOf, requesterOf, type WriteChecks } from './place.ts';

export const applyType = 'application/apply-patch+yaml';

export const applyHandler =
  (resource: Resource, checks: WriteChecks) =>
  async (facts: Authenticated, form: Form): Promise<ApiResponse> => {
    const { request, info, call } = facts;
    const body = await readBody(facts);
    const { dryRun, manager, force, fieldValidation } = applyParameters(request, info);
    const warn = (text: string): unknown => facts.warnings.add(text);
    const part = partOf(resource.served, info.resource?.subresource);
    const configuration = await runTask(
      resource.clock,
      call,
      readConfiguration(resource.served, part, facts, body, fieldValidation, warn),
      body.length >= largeBytesMin,
    );
    const { namespace, name } = placeOf(facts);
    const requester = requesterOf(facts, checks, operationOptions('PatchOptions', info));
    const options = { namespace, part, requester, dryRun, manager, force, warn };
    const { outcome, created } = await apply(resource, name, configuration, options, call);
    return objectResponse(facts, resource, form, created ? 201 : 200, outcome);
  };

function* readConfiguration(
  kind: Kind,
  part: Part | undefined,
  { audit }: Authenticated,
  body: Buffer,
  validation: FieldValidation,
  warn: (text: string) => void,
): SyncTask<Applied> {
  const { value, faults } = yield* readable(yaml(body), 'error decoding YAML');
  yield;
  const unknown: string[] = [];
  requireForm(kind, value);
  audit?.requestObject(value, body.length);
  try {
    const configuration = readApplied(kind.schema, dropUnwritable(kind, part, value), (path) => unknown.push(path));
    report([...faults.map(({ message }) => message), ...unknown.map(unknownField)], validation, warn);
    yield;
    return kind.view ? readApplied(kind.view.of.schema, storedNames(kind.view, value), () => {}) : configuration;
  } catch (error) {
    if (error instanceof WrongTypeError || error instanceof PatchFormError)
      throw badRequest(`the configuration to apply is no ${kind.kind}: ${error.message}`, error);
    throw error;
  }
}

/** What was read once already, and is a configuration, in the form in which the object is stored. */
const storedNames = ({ of, renameFields: renamed }: View, configuration: unknown): object => ({
  ...renamed(configuration as object),
  kind: of.kind,
  apiVersion: of.apiVersion,
});

/** A configuration names its kind and version, because its fields mean something in that version alone. */
function requireForm(kind: Kind, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('error decoding YAML: the configuration to apply must be an object');
  const given = value as Readonly<Record<string, unknown>>;
  const [apiVersion, name] = [getOwn(given, 'apiVersion'), getOwn(given, 'kind')];
  if (apiVersion !== kind.apiVersion || name !== kind.kind)
    throw badRequest(
      `invalid object type: ${JSON.stringify(name ?? '')} in version ${JSON.stringify(apiVersion ?? '')}, expected ${kind.kind} in version ${JSON.stringify(kind.apiVersion)}`,
    );
  const metadata = getOwn(given, 'metadata') as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof metadata === 'object' && metadata !== null && (getOwn(metadata, 'managedFields') ?? null) !== null)
    throw badRequest('metadata.managedFields must be nil');
}
