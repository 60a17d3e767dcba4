import { type Random, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type Answer, type Client, NoAnswerError, type RequestOptions } from './client.ts';
import {
  type Action,
  type Attempt,
  attemptAnnotation,
  type Entry,
  type Outcome,
  patchAnnotation,
  type State,
} from './history.ts';
import type { Change } from '../etcd.ts';

export interface MixedLoad {
  readonly history: readonly Attempt[];
  /** Tells the clients to end, and resolves when their last answers are there. */
  stop(): Promise<void>;
}

export const keyPrefix = '/registry/serviceaccounts/';

export const namespaces = ['load-a', 'load-b'] as const;
/** What every write paints its object with anew, as a label: so that objects come into the view of selectors and leave it. */
export const colours = ['red', 'green', 'blue'] as const;

/** So few that clients meet all the time. */
const names = namespaces.flatMap((namespace) => Array.from({ length: 6 }, (_, at) => `${namespace}/account-${at}`));

/** Between an answer and the next question of a client: leaves a small machine time for etcd, too. */
const shortThinkMs = 4;

/** Less than a namespace often holds, so that most lists take more than one. */
const chunkObjects = 2;

interface MixedLoadOptions {
  readonly thinkMs?: number;
  /**
   * Whether several clients delete the same object. etcd keeps no trace of who deleted: when connections break so often
   * that one's attempt is in doubt while another's is done, both are told of the one removal.
   */
  readonly rivalDeletions?: boolean;
}

/** Clients that do what they like to a few objects, and write down all of it. */
export function mixedLoad(
  clients: readonly Client[],
  random: Random,
  { thinkMs = shortThinkMs, rivalDeletions = true }: MixedLoadOptions = {},
): MixedLoad {
  const history: Attempt[] = [];
  const stopping = new AbortController();
  const loops = clients.map(async (client, at) => {
    const name = `client-${at}`;
    const lastSeen = new Map<string, number>();
    const deletable = rivalDeletions ? names : names.filter((_, index) => index % clients.length === at);
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const action = chosen(random, lastSeen, deletable);
      const attempt = await performed(client, name, `${name}-${turn}`, action, pick(random, colours));
      history.push(attempt);
      const { outcome } = attempt;
      if ('name' in action && (outcome.told === 'found' || outcome.told === 'written'))
        lastSeen.set(action.name, outcome.revision);
      await sleep(clock, thinkMs);
    }
  });
  return {
    history,
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

function chosen(random: Random, lastSeen: ReadonlyMap<string, number>, deletable: readonly string[]): Action {
  const name = pick(random, names);
  const choice = random.below(100);
  if (choice < 20) return { verb: 'create', name };
  if (choice < 40) return { verb: 'get', name };
  if (choice < 55) return { verb: 'patch', name };
  if (choice < 65) return { verb: 'replace', name, expected: undefined };
  if (choice < 80) return { verb: 'replace', name, expected: lastSeen.get(name) };
  if (choice < 92) return { verb: 'delete', name: pick(random, deletable) };
  return {
    verb: 'list',
    namespace: pick(random, [undefined, ...namespaces]),
    limit: pick(random, [undefined, chunkObjects]),
  };
}

const pick = <T>(random: Random, some: readonly T[]): T => some[random.below(some.length)] as T; // none is empty

async function performed(client: Client, name: string, id: string, action: Action, colour: string): Promise<Attempt> {
  const invokedMs = clock.monotonicMs();
  const attempt = { id, client: name, action, invokedMs };
  try {
    const outcome = await (action.verb === 'list'
      ? listed(client, action)
      : single(client, requestFor(name, id, action, colour), action));
    return { ...attempt, outcome, returnedMs: clock.monotonicMs() };
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    return {
      ...attempt,
      outcome: { told: 'nothing', why: error.message, connectedMs: error.connectedMs },
      returnedMs: clock.monotonicMs(),
    };
  }
}

type Listing = Extract<Action, { verb: 'list' }>;
type Single = Exclude<Action, Listing>;

interface Request {
  readonly method: string;
  readonly path: string;
  readonly options?: RequestOptions;
}

const single = async (client: Client, { method, path, options }: Request, action: Single): Promise<Outcome> =>
  outcomeOf(action, await client.request(method, path, options));

function requestFor(client: string, id: string, action: Single, colour: string): Request {
  const [namespace = '', name = ''] = action.name.split('/');
  const collection = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  const path = `${collection}/${name}`;
  const annotations = { [attemptAnnotation]: id };
  const metadata = { name, annotations, labels: { colour } };
  switch (action.verb) {
    case 'create':
      return { method: 'POST', path: collection, options: { body: { metadata } } };
    case 'replace': {
      const expected = action.expected === undefined ? {} : { resourceVersion: `${action.expected}` };
      return { method: 'PUT', path, options: { body: { metadata: { ...metadata, ...expected } } } };
    }
    case 'patch': {
      const patched = { labels: { colour }, annotations: { ...annotations, [patchAnnotation(client)]: id } };
      return { method: 'PATCH', path, options: { body: { metadata: patched }, contentType: mergePatch } };
    }
    default:
      return { method: action.verb === 'get' ? 'GET' : 'DELETE', path };
  }
}

const mergePatch = 'application/merge-patch+json';

const success: Readonly<Record<Single['verb'], number>> = {
  create: 201,
  get: 200,
  replace: 200,
  patch: 200,
  delete: 200,
};

function outcomeOf(action: Single, { status, retryAfter, body }: Answer): Outcome {
  const nonsense: Outcome = { told: 'nonsense', what: `${status} ${body}` };
  if (status === 503) return retryAfter ? { told: 'unavailable' } : nonsense;
  const answer = parsed(body);
  if (status === 404 && action.verb !== 'create') return { told: 'absent' };
  if (status === 409 && action.verb === 'create' && answer?.reason === 'AlreadyExists') return { told: 'exists' };
  if (status === 409 && action.verb === 'replace' && answer?.reason === 'Conflict') return { told: 'conflict' };
  const revision = Number(answer?.metadata?.resourceVersion);
  if (status !== success[action.verb] || !(revision > 0)) return nonsense;
  return action.verb === 'get'
    ? { told: 'found', revision, attempt: answer?.metadata?.annotations?.[attemptAnnotation] }
    : { told: 'written', revision };
}

/** All chunks of a list: together they are to be what there was at the revision of the first. */
async function listed(client: Client, { namespace, limit }: Listing): Promise<Outcome> {
  const collection = namespace === undefined ? 'serviceaccounts' : `namespaces/${namespace}/serviceaccounts`;
  const items = new Map<string, number>();
  let revision: number | undefined;
  for (let rest = ''; ; ) {
    const query = new URLSearchParams({ ...(limit && { limit: `${limit}` }), ...(rest && { continue: rest }) });
    const { status, retryAfter, body } = await client.request('GET', `/api/v1/${collection}?${query}`);
    if (status === 503 && retryAfter) return { told: 'unavailable' };
    if (status === 410 && revision !== undefined) return { told: 'expired', revision };
    const answer = parsed(body);
    const at = Number(answer?.metadata?.resourceVersion);
    revision ??= at;
    if (status !== 200 || !(at > 0) || at !== revision) return { told: 'nonsense', what: `${status} ${body}` };
    for (const { metadata } of answer?.items ?? []) {
      const name = `${metadata.namespace}/${metadata.name}`;
      if (items.has(name)) return { told: 'nonsense', what: `${name} twice in a list of ${revision}` };
      items.set(name, Number(metadata.resourceVersion));
    }
    rest = answer?.metadata?.continue ?? '';
    if (!rest) return { told: 'listed', revision, items };
  }
}

/** As much of what the server sends as a history needs. */
interface Sent {
  readonly reason?: string;
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly items?: readonly {
    readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  }[];
}

function parsed(body: string): Sent | undefined {
  try {
    return JSON.parse(body) as Sent;
  } catch {
    return undefined; // an answer of that kind is nonsense by its missing parts
  }
}

/** etcd's own log of the objects of the load. */
export const entriesOf = (changes: readonly Change[]): Entry[] =>
  changes.map(({ revision, key, value }) => ({
    revision,
    name: key.slice(keyPrefix.length),
    state: value === undefined ? undefined : stateOf(value),
  }));

function stateOf(value: string): State {
  const { metadata } = JSON.parse(value) as { metadata: { uid: string; annotations?: Record<string, string> } };
  return { uid: metadata.uid, annotations: metadata.annotations ?? {} };
}
