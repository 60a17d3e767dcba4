import {
  badRequest,
  decode,
  deleteOptions,
  type Integer,
  type Kind,
  type TypeNames,
  WrongTypeError,
} from '@cluster-apiserver/model';
import type { DeleteOptions } from '@cluster-apiserver/registry';
import { type BodyFormat, bodyFormat, readable, readBody } from '../body.ts';
import type { Authenticated } from '../facts.ts';
import { dryRunErrors, invalidOptions } from '../options.ts';
import { flag, integer, text } from '../request-info.ts';

const ignoreReadErrors = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** What a delete may say in its body. */
interface DeleteBody {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly gracePeriodSeconds?: Integer;
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
export async function deleteParameters(facts: Authenticated, kind: Kind): Promise<Omit<DeleteOptions, 'namespace'>> {
  const { query } = facts.info;
  const format = bodyFormat(facts.request, { hasProtobuf: true });
  const raw = await readBody(facts);
  const body = raw.length === 0 ? {} : readOptions(raw, format, kind);
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

const unreadable = 'the options of the deletion are unreadable';

function readOptions(raw: Buffer, format: BodyFormat, deleted: Kind): DeleteBody {
  const isOne = ({ kind, apiVersion }: Partial<TypeNames>): boolean =>
    (!kind || kind === 'DeleteOptions') &&
    (!apiVersion || ['v1', 'meta.k8s.io/v1', deleted.apiVersion].includes(apiVersion));
  const { value } = readable(() => format(raw, (names) => (isOne(names) ? deleteOptions : undefined)), unreadable);
  try {
    const options = decode(deleteOptions, value, () => {}) as DeleteBody;
    if (isOne(options)) return options;
    throw badRequest(`${unreadable}: expected DeleteOptions of v1, got ${options.kind} of ${options.apiVersion}`);
  } catch (error) {
    if (error instanceof WrongTypeError) throw badRequest(`${unreadable}: ${error.message}`, error);
    throw error;
  }
}
