import {
  badRequest,
  type FieldSelector,
  invalid,
  type FieldError,
  forbidden,
  type KubeObject,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  notSupported,
  StatusError,
  type Kind,
} from '@cluster-apiserver/model';
import { type Call, type Revision, RevisionCompactedError } from '@cluster-apiserver/storage';
import { type Continuation, decodeContinue, encodeContinue } from './continue-token.ts';
import { requireAtLeast } from './get.ts';
import { Outcome } from './outcome.ts';
import { collectionPrefix, type Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { answering } from './storage-answers.ts';

/** Which objects of a kind are meant. */
export interface Selection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
}

export interface ListOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly limit: number | undefined;
  readonly continue: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
}

export interface ObjectList {
  readonly items: readonly Outcome[];
  readonly revision: Revision;
  /** With what the rest of the list is asked for; undefined when this is the end. */
  readonly continue?: string;
  /** How many objects the rest has, where that is known without looking at each. */
  readonly remainingItemCount?: number;
}

/** The whole meaning of "list", for every kind. */
export function list(resource: Resource, options: ListOptions, call: Call): Promise<ObjectList> {
  return answering(async () => {
    const errors = listOptionsErrors(options);
    if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
    const wanted = parseResourceVersion(options.resourceVersion);
    if (options.continue && typeof wanted === 'number') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const from = options.continue ? decodeContinue(options.continue) : undefined;
    const exact = options.resourceVersionMatch === 'Exact' && typeof wanted === 'number' ? wanted : from?.revision;
    try {
      const chunk = await readChunk(resource, options, { after: from?.after, revision: exact }, call);
      requireAtLeast(wanted, chunk.revision);
      return chunk;
    } catch (error) {
      if (from && error instanceof RevisionCompactedError) throw expired(from, error);
      throw error;
    }
  });
}

/** Selectors leave out what they do not select, so a chunk may take several pages of the store. */
const pageKeysMin = 500;

async function readChunk(
  resource: Resource,
  options: ListOptions,
  start: { readonly after: string | undefined; readonly revision: Revision | undefined },
  call: Call,
): Promise<ObjectList> {
  const prefix = collectionPrefix(resource, options.namespace);
  const limit = options.limit && options.limit > 0 ? options.limit : undefined;
  const selective = options.labels !== undefined || options.fields !== undefined;
  const items: Outcome[] = [];
  let { revision } = start;
  let after = start.after === undefined ? undefined : prefix + start.after;
  for (;;) {
    const pageKeys = limit && (selective ? Math.max(limit, pageKeysMin) : limit);
    const page = await resource.store.list({ prefix, after, limit: pageKeys, revision }, call);
    revision = page.revision;
    for (const [index, stored] of page.stored.entries()) {
      after = stored.key;
      const item = Outcome.ofStored(stored);
      if (!isSelected(resource.kind, options, () => item.object)) continue;
      items.push(item);
      const remaining = page.stored.length - 1 - index + page.remaining;
      if (items.length !== limit || remaining === 0) continue;
      return {
        items,
        revision,
        continue: encodeContinue({ after: stored.key.slice(prefix.length), revision }),
        ...(!selective && { remainingItemCount: remaining }),
      };
    }
    if (page.remaining === 0) return { items, revision };
  }
}

/** The snapshot is gone. Whoever can live with a rest from a newer one may go on with another token. */
function expired({ after }: Continuation, cause: RevisionCompactedError): StatusError {
  const message =
    'The provided continue parameter is too old to display a consistent list result. Start a new list without it, or use the continue token of this answer for the rest of the list as it is now, which may not fit what came before.';
  return new StatusError(
    'Expired',
    message,
    { causes: [{ reason: 'ResourceExpired', message: cause.message }] },
    { cause, continue: encodeContinue({ after, revision: undefined }) },
  );
}

/** Looks into the object only if something is asked of it. */
export function isSelected(kind: Kind, { labels, fields }: Selection, object: () => KubeObject): boolean {
  return (
    (!labels || matchesLabels(labels, object().metadata.labels ?? {})) &&
    (!fields || matchesFields(fields, kind, object()))
  );
}

function listOptionsErrors({
  resourceVersion,
  resourceVersionMatch: match,
  continue: token,
  sendInitialEvents,
}: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (sendInitialEvents !== undefined)
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  if (!match) return errors;
  if (!resourceVersion)
    errors.push(
      forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  if (token)
    errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && resourceVersion === '0')
    errors.push(forbidden('resourceVersionMatch', 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'));
  return errors;
}
