import {
  badRequest,
  boolean,
  decode,
  field,
  int64,
  list,
  object,
  string,
  WrongTypeError,
} from '@cluster-apiserver/model';
import type { DeleteOptions } from '@cluster-apiserver/registry';
import { bodyFormat, parseText, readBody } from '../body.ts';
import type { Authenticated } from '../facts.ts';
import { dryRunErrors, invalidOptions } from '../options.ts';
import { flag, integer, text } from '../request-info.ts';

const ignoreReadErrors = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** What a delete may say, in its body or in its query. */
const deleteOptions = object({
  kind: field(string, 'DeleteOptions.'),
  apiVersion: field(string, 'v1, or meta.k8s.io/v1.'),
  gracePeriodSeconds: field(int64, 'Seconds before the object is deleted; 0 means at once.', 'given'),
  preconditions: field(
    object({
      uid: field(string, 'The UID that the object must have.', 'given'),
      resourceVersion: field(string, 'The resourceVersion that it must have.', 'given'),
    }),
    'What must hold for the deletion to happen.',
  ),
  orphanDependents: field(boolean, 'Deprecated; use propagationPolicy.', 'given'),
  propagationPolicy: field(string, 'What becomes of dependents: Orphan, Background or Foreground.', 'given'),
  dryRun: field(list(string, 'atomic'), 'All: nothing is written.'),
  [ignoreReadErrors]: field(boolean, 'Deletes what cannot be read any more.', 'given'),
});

interface DeleteBody {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: string;
  readonly dryRun?: readonly string[];
  readonly [ignoreReadErrors]?: boolean;
}

/**
 * Each option is the body's if it says anything about it, and the query's otherwise. The reference forgets the query
 * as soon as there is a body, and so deletes for good what was asked to be a dry run.
 */
export async function deleteParameters({
  request,
  info: { query },
}: Authenticated): Promise<Omit<DeleteOptions, 'namespace'>> {
  const format = bodyFormat(request);
  const raw = await readBody(request);
  const body =
    raw.length === 0
      ? {}
      : decodeDeleteOptions(parseText(raw, format, 'the options of the deletion are unreadable').value);
  const dryRun = [...query.getAll('dryRun'), ...(body.dryRun ?? [])];
  const errors = dryRunErrors(dryRun);
  if (errors.length > 0) throw invalidOptions('DeleteOptions', errors);
  const policyInBody = body.orphanDependents !== undefined || body.propagationPolicy !== undefined;
  return {
    dryRun: dryRun.length > 0,
    ignoreReadErrors: body[ignoreReadErrors] ?? flag(query, ignoreReadErrors),
    preconditions: body.preconditions,
    gracePeriodSeconds: body.gracePeriodSeconds ?? integer(query, 'gracePeriodSeconds'),
    orphanDependents: policyInBody ? body.orphanDependents : flag(query, 'orphanDependents'),
    propagationPolicy: policyInBody ? body.propagationPolicy : text(query, 'propagationPolicy'),
  };
}

function decodeDeleteOptions(value: unknown): DeleteBody {
  try {
    const options = decode(deleteOptions, value, () => {}) as DeleteBody;
    const { kind = 'DeleteOptions', apiVersion = 'v1' } = options;
    if (kind !== 'DeleteOptions' || (apiVersion !== 'v1' && apiVersion !== 'meta.k8s.io/v1'))
      throw new WrongTypeError('kind', `expected DeleteOptions of v1, got ${kind} of ${apiVersion}`);
    return options;
  } catch (error) {
    if (error instanceof WrongTypeError)
      throw badRequest(`the options of the deletion are unreadable: ${error.message}`, error);
    throw error;
  }
}
