import { runSync } from '@cluster-apiserver/base';
import { badRequest, Problems } from '@cluster-apiserver/model';
import type { TypeNames } from '@cluster-apiserver/model/codec';
import type { Integer } from '@cluster-apiserver/model/json';
import { decode, deleteOptions, WrongTypeError } from '@cluster-apiserver/model/schema';
import type { Authorizer, OperationOptions } from '@cluster-apiserver/gates';
import type { DeleteOptions } from '@cluster-apiserver/registry';
import { type BodyFormat, formatOfBody, rejectUnparsable } from '../request-body/body-formats.ts';
import { readBody } from '../request-body/read-body.ts';
import { addWarning, type AuthenticatedContext } from '../request-context.ts';
import { requireValidOptions, validateDryRun } from '../query-parameters.ts';
import { readBoolean, readExactBoolean, readExactInteger, readString } from '../request-info.ts';
import { requireVerb } from '../stages/authorize.ts';
import { createRequester, type WriteChecks } from './requester.ts';

const ignoreReadErrorsParameter = 'ignoreStoreReadErrorWithClusterBreakingPotential';

type DeleteParameters = Omit<DeleteOptions, 'namespace' | 'requester'>;

interface DeleteBody {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly gracePeriodSeconds?: Integer;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
  readonly dryRun?: readonly string[];
  readonly [ignoreReadErrorsParameter]?: boolean;
}

/** The deletion that a request asks for. `unsafeAuthorizer` is undefined if unsafe deletion is disabled. */
export async function readDeletion(
  context: AuthenticatedContext,
  checks: WriteChecks,
  unsafeAuthorizer: Authorizer | undefined,
): Promise<Omit<DeleteOptions, 'namespace'>> {
  const parameters = await readParameters(context);
  return {
    ...parameters,
    ignoreReadErrors: await authorizeUnsafeDeletion(context, parameters.ignoreReadErrors, unsafeAuthorizer),
    requester: createRequester(context, checks, toOperationOptions(parameters)),
  };
}

/**
 * An option in the body takes precedence over the query. kube-apiserver ignores the query as soon as there is a body,
 * and so deletes for good what the query marks as a dry run.
 */
async function readParameters(context: AuthenticatedContext): Promise<DeleteParameters> {
  const { query } = context.info;
  const raw = await readBody(context);
  const body = raw.length === 0 ? {} : parseOptions(raw, formatOfBody(context.request, { hasProtobuf: true }));
  if (raw.length > 0) context.audit?.logRequestObject(body, raw.length);
  const dryRun = [...query.getAll('dryRun'), ...(body.dryRun ?? [])];
  const problems = new Problems();
  validateDryRun(dryRun, problems);
  requireValidOptions('DeleteOptions', problems);
  return {
    dryRun: dryRun.length > 0,
    ignoreReadErrors: body[ignoreReadErrorsParameter] ?? readExactBoolean(query, ignoreReadErrorsParameter),
    // As in kube-apiserver, unless there is a body: clients that send one have a resourceVersion for the list of a collection.
    preconditions: raw.length === 0 ? readPreconditions(query) : body.preconditions,
    gracePeriodSeconds: body.gracePeriodSeconds ?? readExactInteger(query, 'gracePeriodSeconds'),
    // Deprecated. kube-apiserver sends no Warning for it, as recorded conversations show.
    orphanDependents: body.orphanDependents ?? readBoolean(query, 'orphanDependents'),
    propagationPolicy: body.propagationPolicy ?? readString(query, 'propagationPolicy'),
  };
}

function readPreconditions(query: URLSearchParams): DeleteBody['preconditions'] {
  const [uid, resourceVersion] = [readString(query, 'uid'), readString(query, 'resourceVersion')];
  return uid || resourceVersion ? { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) } : undefined;
}

const unreadableOptions = 'the delete options are invalid';

function parseOptions(raw: Buffer, format: BodyFormat): DeleteBody {
  // As in kube-apiserver, which decodes these options in every group and version, even in those it does not serve: clients
  // name the apiVersion of the object, or their own.
  const isOne = ({ kind, apiVersion }: Partial<TypeNames>): boolean =>
    (!kind || kind === 'DeleteOptions') && (!apiVersion || apiVersion.split('/', 3).length <= 2);
  const parse = format(raw, (names) => (isOne(names) ? deleteOptions : undefined));
  const { value, hasMoreDocuments } = runSync(rejectUnparsable(parse, unreadableOptions));
  // Without the options in them, the deletion could delete what it should not.
  if (hasMoreDocuments) throw badRequest(`${unreadableOptions}: the body holds more than one document`);
  try {
    const options = decode(deleteOptions, value, () => {}) as DeleteBody;
    if (isOne(options)) return options;
    throw badRequest(
      `${unreadableOptions}: expected DeleteOptions of a version such as "v1", got ${options.kind ?? ''} of ${JSON.stringify(options.apiVersion ?? '')}`,
    );
  } catch (error) {
    if (error instanceof WrongTypeError) throw badRequest(`${unreadableOptions}: ${error.message}`, error);
    throw error;
  }
}

/** The verb that is required in addition to delete. */
const unsafeVerb = 'unsafe-delete-ignore-read-errors';

/**
 * Returns whether unreadable objects are deleted: requested, enabled and authorized. Without an authorizer the feature
 * is disabled, and the deletion is an ordinary one.
 */
export async function authorizeUnsafeDeletion(
  context: AuthenticatedContext,
  requested: boolean | undefined,
  authorizer: Authorizer | undefined,
): Promise<boolean> {
  if (!requested) return false;
  if (!authorizer) {
    addWarning(
      context,
      `${ignoreReadErrorsParameter} has no effect while the feature gate AllowUnsafeMalformedObjectDeletion is off`,
    );
    return false;
  }
  await requireVerb(
    authorizer,
    context,
    unsafeVerb,
    (reason) => `not permitted to do "${unsafeVerb}"${reason ? `, reason: ${reason}` : ''}`,
  );
  return true;
}

/** The options of a deletion, as admission sees them. */
const toOperationOptions = ({
  dryRun,
  gracePeriodSeconds,
  orphanDependents,
  propagationPolicy,
  preconditions,
}: DeleteParameters): OperationOptions => ({
  kind: 'DeleteOptions',
  dryRun: dryRun ? ['All'] : undefined,
  gracePeriodSeconds,
  orphanDependents,
  propagationPolicy,
  preconditions,
});
