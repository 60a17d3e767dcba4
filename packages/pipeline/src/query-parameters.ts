import { requireValue } from '@cluster-apiserver/base';
import { badRequest, Problems, requireValid } from '@cluster-apiserver/model';
import {
  type LabelSelector,
  type FieldSelector,
  parseFieldSelector,
  parseLabelSelector,
  parseShardSelector,
  SelectorSyntaxError,
} from '@cluster-apiserver/model/selector';
import { isPrintable, validateManager } from '@cluster-apiserver/model/validation';
import type { ListOptions, Resource } from '@cluster-apiserver/registry';
import type { FieldValidation } from './request-body/field-validation.ts';
import type { ApiRequest } from './exchange.ts';
import { addWarning, type RequestInfoContext } from './request-context.ts';
import { readBoolean, readInteger, type RequestInfo, readString } from './request-info.ts';

/** The query parameters of each verb. Errors name the parameter. */

export interface WriteParameters {
  readonly dryRun: boolean;
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
}

/** The API allows fewer than 128 characters. */
const fieldManagerCharactersMax = 127;
/** A manager derived from the user agent is truncated and never refused. */
const agentManagerBytesMax = 128;

const validations: ReadonlyMap<string, FieldValidation> = new Map([
  ['Ignore', 'Ignore'],
  ['Warn', 'Warn'],
  ['Strict', 'Strict'],
]);

export function readWriteParameters(
  form: 'CreateOptions' | 'UpdateOptions',
  request: ApiRequest,
  { query }: RequestInfo,
): WriteParameters {
  return readCheckedParameters(form, request, query, new Problems());
}

/** Only apply has `force`: other patches never conflict with field managers. */
export function readPatchParameters(request: ApiRequest, { query }: RequestInfo): WriteParameters {
  const problems = new Problems();
  if (query.has('force')) problems.at('force').forbidden('may not be specified for non-apply patch');
  return readCheckedParameters('PatchOptions', request, query, problems);
}

export function readApplyParameters(
  request: ApiRequest,
  { query }: RequestInfo,
): WriteParameters & { readonly force: boolean } {
  const problems = new Problems();
  if (!query.get('fieldManager')) problems.at('fieldManager').required('is required for apply patch');
  return {
    ...readCheckedParameters('PatchOptions', request, query, problems),
    force: readBoolean(query, 'force') ?? false,
  };
}

function readCheckedParameters(
  form: string,
  request: ApiRequest,
  query: URLSearchParams,
  problems: Problems,
): WriteParameters {
  const manager = query.get('fieldManager') ?? '';
  const validation = query.get('fieldValidation') || 'Warn';
  const fieldValidation = validations.get(validation);
  validateDryRun(query.getAll('dryRun'), problems);
  validateManager(manager, fieldManagerCharactersMax, problems.at('fieldManager'));
  if (!fieldValidation) problems.at('fieldValidation').notSupported(validation, ['', 'Ignore', 'Strict', 'Warn']);
  requireValidOptions(form, problems);
  return {
    dryRun: query.has('dryRun'),
    manager: manager || fieldManagerOfAgent(request.header('user-agent') ?? '') || 'unknown',
    fieldValidation: requireValue(fieldValidation),
  };
}

/** Throws a StatusError if the options of a request have problems. */
export const requireValidOptions = (form: string, problems: Problems): void =>
  requireValid({ group: 'meta.k8s.io', kind: form }, '', problems);

export function validateDryRun(values: readonly string[], problems: Problems): void {
  if (values.some((value) => value !== 'All')) problems.at('dryRun').notSupported(values, ['All']);
}

/** Nearly all are. */
const isPlainAgent = /^[\x20-\x7e]{0,128}$/;

/** The default field manager: the user agent up to its first slash, printable and truncated. */
function fieldManagerOfAgent(agent: string): string {
  const slash = agent.indexOf('/');
  const product = slash < 0 ? agent : agent.slice(0, slash);
  if (isPlainAgent.test(product)) return product;
  let manager = '';
  for (const character of product) {
    if (!isPrintable(character)) continue;
    if (Buffer.byteLength(manager) + Buffer.byteLength(character) > agentManagerBytesMax) break;
    manager += character;
  }
  return manager;
}

export interface ListParameters extends ListOptions {
  readonly timeoutSeconds: number | undefined;
}

/** Refuses a selector that would be ignored: the deletion would delete everything. */
export function requireSupportedSelector(resource: Resource, context: RequestInfoContext): void {
  if (ignoresShards(resource, context))
    throw badRequest(`${shardSelectorIgnored}, so nothing was deleted: switch it on or select by labels or fields`);
}

const ignoresShards = ({ shardedReads }: Resource, { info: { query } }: RequestInfoContext): boolean =>
  !shardedReads && Boolean(readString(query, 'shardSelector'));

const shardSelectorIgnored = 'shardSelector has no effect while the feature gate ShardedListAndWatch is off';

export function readListParameters(resource: Resource, context: RequestInfoContext): ListParameters {
  const { served, shardedReads } = resource;
  const { query, resource: requested } = context.info;
  if (ignoresShards(resource, context)) addWarning(context, shardSelectorIgnored);
  return {
    namespace: requested?.isInNamespace ? requested.namespace : undefined,
    limit: readInteger(query, 'limit'),
    timeoutSeconds: readInteger(query, 'timeoutSeconds'),
    continue: readString(query, 'continue'),
    resourceVersion: readString(query, 'resourceVersion'),
    resourceVersionMatch: readString(query, 'resourceVersionMatch'),
    sendInitialEvents: readBoolean(query, 'sendInitialEvents'),
    labels: readSelector(
      readString(query, 'labelSelector'),
      (selection): LabelSelector => parseLabelSelector(selection),
    ),
    fields: readSelector(
      readString(query, 'fieldSelector'),
      (selection): FieldSelector => parseFieldSelector(selection, served),
    ),
    shards: shardedReads ? readSelector(readString(query, 'shardSelector'), parseShardSelector) : undefined,
  };
}

function readSelector<T>(selection: string | undefined, parse: (selection: string) => T): T | undefined {
  if (!selection) return undefined;
  try {
    return parse(selection);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw badRequest(error.message, error);
    throw error;
  }
}
