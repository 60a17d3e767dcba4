import type { ClientResponse, Client } from '@cluster-apiserver/testkit/api-client';
import { type Outcome, type Owners, type FieldPath, type State, updates, type Values } from './history.ts';
import { collectionPath, locate } from './judged-resources.ts';
import type { Listing, Single } from './requests.ts';

/** Converts a response to the outcome of a recorded operation. A response that no request justifies is invalid. */
export function outcomeOf(action: Single, { status, retryAfter, body }: ClientResponse): Outcome {
  const invalid: Outcome = { result: 'invalid', what: `${status} ${body}` };
  if (status === 503) return retryAfter ? { result: 'unavailable' } : invalid;
  const answer = parseBody(body);
  const { verb } = action;
  if (status === 504) return verb !== 'get' && !retryAfter ? { result: 'in doubt' } : invalid;
  switch (status) {
    case 404:
      return verb === 'create' || verb === 'apply' ? invalid : { result: 'absent' };
    case 409: {
      if (verb === 'create') return answer?.reason === 'AlreadyExists' ? { result: 'exists' } : invalid;
      if (answer?.reason !== 'Conflict') return invalid;
      const causes = answer.details?.causes;
      return causes ? { result: 'owned', places: placesOf(causes) } : { result: 'conflict' };
    }
    case 422:
      return verb === 'count' ? { result: 'failed' } : invalid;
  }
  if (status === 200 && verb === 'delete' && locate(action.name).resource.isCustom) {
    const uid = answer?.details?.uid;
    return uid ? { result: 'deleted', uid } : invalid;
  }
  const revision = Number(answer?.metadata?.resourceVersion);
  const isSuccess = status === 200 ? verb !== 'create' : status === 201 && (verb === 'create' || verb === 'apply');
  if (!isSuccess || !(revision > 0)) return invalid;
  return { result: verb === 'get' ? 'found' : 'written', revision, state: parseState(body) };
}

/** Reads all chunks of a list, which must show one snapshot: the state at the revision of the first chunk. */
export async function readList(client: Client, { within, limit }: Listing): Promise<Outcome> {
  const { resource, namespace } = locate(within);
  const items = new Map<string, number>();
  let revision: number | undefined;
  for (let rest = ''; ; ) {
    const query = new URLSearchParams({ ...(limit && { limit: `${limit}` }), ...(rest && { continue: rest }) });
    const { status, retryAfter, body } = await client.request('GET', `${collectionPath(resource, namespace)}?${query}`);
    if (status === 503 && retryAfter) return { result: 'unavailable' };
    if (status === 410 && revision !== undefined) return { result: 'expired', revision };
    const answer = parseBody(body);
    const at = Number(answer?.metadata?.resourceVersion);
    revision ??= at;
    if (status !== 200 || !(at > 0) || at !== revision) return { result: 'invalid', what: `${status} ${body}` };
    for (const { metadata } of answer?.items ?? []) {
      const name = `${resource.prefix}${metadata.namespace}/${metadata.name}`;
      if (items.has(name)) return { result: 'invalid', what: `${name} twice in a list of ${revision}` };
      items.set(name, Number(metadata.resourceVersion));
    }
    rest = answer?.metadata?.continue ?? '';
    if (!rest) return { result: 'listed', revision, items };
  }
}

/** The state of a served or stored object. */
export function parseState(object: string): State {
  const { metadata, secrets = [] } = JSON.parse(object) as Stored;
  const { uid, annotations = {}, labels = {}, managedFields = [] } = metadata;
  const names = secrets.reduce<Values>((all, { name }) => ({ ...all, [name]: name in all ? 'doubled' : '' }), {});
  const values = {
    ...prefixKeys('annotations', annotations),
    ...prefixKeys('labels', labels),
    ...prefixKeys('secrets', names),
  };
  return { uid, values, owners: ownersIn(managedFields) };
}

const prefixKeys = (part: string, values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${part}/${name}`, value]));

/**
 * Owners by manager. All updates count as one manager here, because the clients set no field manager. A manager of an
 * empty map owns nothing.
 */
const ownersIn = (entries: Stored['metadata']['managedFields'] = []): Owners =>
  Object.fromEntries(
    entries
      .map(
        ({ manager, operation, fieldsV1 }) => [operation === 'Apply' ? manager : updates, placesIn(fieldsV1)] as const,
      )
      .filter(([, places]) => places.length > 0),
  );

function placesIn(fields: Fields): FieldPath[] {
  const metadata = fields['f:metadata'] ?? {};
  const entryPaths = (part: string, below: Fields | undefined, prefix: string): FieldPath[] =>
    Object.keys(below ?? {}).flatMap((step) =>
      step.startsWith(prefix) ? [`${part}/${nameIn(step.slice(prefix.length))}`] : [],
    );
  return [
    ...entryPaths('annotations', metadata['f:annotations'], 'f:'),
    ...entryPaths('labels', metadata['f:labels'], 'f:'),
    ...entryPaths('secrets', fields['f:secrets'], 'k:'),
  ];
}

/** List entries are identified by their key, such as `{"name":"one"}`. */
const nameIn = (step: string): string =>
  step.startsWith('{') ? (JSON.parse(step) as { readonly name: string }).name : step;

/** The causes contain field paths, such as `.metadata.labels.colour`. */
const placesOf = (causes: readonly { readonly field?: string }[]): FieldPath[] =>
  [...new Set(causes.map(({ field = '' }) => field.replace(/^\.metadata\./, '').replace('.', '/')))].sort();

/** The parts of a response that a history needs. */
interface Sent {
  readonly reason?: string;
  readonly details?: { readonly uid?: string; readonly causes?: readonly { readonly field?: string }[] };
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly {
    readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  }[];
}

interface Stored {
  readonly metadata: {
    readonly uid: string;
    readonly annotations?: Values;
    readonly labels?: Values;
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly operation: string;
      readonly fieldsV1: Fields;
    }[];
  };
  readonly secrets?: readonly { readonly name: string }[];
}

interface Fields {
  readonly [step: string]: Fields | undefined;
}

function parseBody(body: string): Sent | undefined {
  try {
    return JSON.parse(body) as Sent;
  } catch {
    return undefined; // missing fields make the outcome invalid
  }
}
