import {
  badRequest,
  type FieldError,
  forbidden,
  invalid,
  isPrintable,
  type LabelSelector,
  type FieldSelector,
  managerErrors,
  notSupported,
  parseFieldSelector,
  parseLabelSelector,
  parseShardSelector,
  required,
  SelectorSyntaxError,
} from '@cluster-apiserver/model';
import type { ListOptions, Resource } from '@cluster-apiserver/registry';
import type { FieldValidation } from './body.ts';
import type { ApiRequest } from './exchange.ts';
import type { Understood } from './facts.ts';
import { flag, integer, type RequestInfo, text } from './request-info.ts';

/** The parameters of each verb, read from the query. What is wrong with one is told by its name. */

export interface WriteParameters {
  readonly dryRun: boolean;
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
}

/** The specification says: fewer than 128 characters. */
const fieldManagerCharactersMax = 127;
/** A manager read off the user agent is cut and not refused. */
const agentManagerBytesMax = 128;

const validations = ['Ignore', 'Warn', 'Strict'];

export function writeParameters(
  form: 'CreateOptions' | 'UpdateOptions',
  request: ApiRequest,
  { query }: RequestInfo,
): WriteParameters {
  return checkedParameters(form, request, query, []);
}

/** Patches that merge into what is there know no force: there is nobody to take anything from. */
export function patchParameters(request: ApiRequest, { query }: RequestInfo): WriteParameters {
  const errors = query.has('force') ? [forbidden('force', 'may not be specified for non-apply patch')] : [];
  return checkedParameters('PatchOptions', request, query, errors);
}

export function applyParameters(
  request: ApiRequest,
  { query }: RequestInfo,
): WriteParameters & { readonly force: boolean } {
  const errors = query.get('fieldManager') ? [] : [required('fieldManager', 'is required for apply patch')];
  return { ...checkedParameters('PatchOptions', request, query, errors), force: flag(query, 'force') ?? false };
}

function checkedParameters(
  form: string,
  request: ApiRequest,
  query: URLSearchParams,
  found: readonly FieldError[],
): WriteParameters {
  const manager = query.get('fieldManager') ?? '';
  const validation = query.get('fieldValidation') || 'Warn';
  const errors = [
    ...found,
    ...dryRunErrors(query.getAll('dryRun')),
    ...managerErrors('fieldManager', manager, fieldManagerCharactersMax),
    ...(validations.includes(validation)
      ? []
      : [notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn'])]),
  ];
  if (errors.length > 0) throw invalidOptions(form, errors);
  return {
    dryRun: query.has('dryRun'),
    manager: manager || managerOf(request.header('user-agent') ?? '') || 'unknown',
    fieldValidation: validation as FieldValidation,
  };
}

export const invalidOptions = (form: string, errors: readonly FieldError[]): Error =>
  invalid({ group: 'meta.k8s.io', kind: form }, '', errors);

export const dryRunErrors = (values: readonly string[]): FieldError[] =>
  values.every((value) => value === 'All') ? [] : [notSupported('dryRun', values, ['All'])];

/** The user agent up to its first slash, printable and not too long. */
function managerOf(agent: string): string {
  let manager = '';
  for (const character of agent.split('/', 1)[0] as string) {
    if (!isPrintable(character)) continue;
    if (Buffer.byteLength(manager) + Buffer.byteLength(character) > agentManagerBytesMax) break;
    manager += character;
  }
  return manager;
}

export interface ListParameters extends ListOptions {
  readonly timeoutSeconds: number | undefined;
}

/** A deletion that ignored its selector would delete everything. */
export function requireObeyedSelector(resource: Resource, facts: Understood): void {
  if (ignoresShards(resource, facts))
    throw badRequest(`${shardsIgnored}, so nothing was deleted: switch it on or select by labels or fields`);
}

const ignoresShards = ({ shardedReads }: Resource, { info: { query } }: Understood): boolean =>
  !shardedReads && Boolean(text(query, 'shardSelector'));

const shardsIgnored = 'shardSelector has no effect while the feature gate ShardedListAndWatch is off';

export function listParameters(resource: Resource, facts: Understood): ListParameters {
  const { served, shardedReads } = resource;
  const { query, resource: requested } = facts.info;
  if (ignoresShards(resource, facts)) facts.warnings.add(shardsIgnored);
  return {
    namespace: requested?.inNamespace ? requested.namespace : undefined,
    limit: integer(query, 'limit'),
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    continue: text(query, 'continue'),
    resourceVersion: text(query, 'resourceVersion'),
    resourceVersionMatch: text(query, 'resourceVersionMatch'),
    sendInitialEvents: flag(query, 'sendInitialEvents'),
    labels: selector(text(query, 'labelSelector'), (selection): LabelSelector => parseLabelSelector(selection)),
    fields: selector(text(query, 'fieldSelector'), (selection): FieldSelector => parseFieldSelector(selection, served)),
    shards: shardedReads ? selector(text(query, 'shardSelector'), parseShardSelector) : undefined,
  };
}

function selector<T>(selection: string | undefined, parse: (selection: string) => T): T | undefined {
  if (!selection) return undefined;
  try {
    return parse(selection);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw badRequest(error.message, error);
    throw error;
  }
}
