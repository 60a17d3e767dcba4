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

const collection = '/api/v1/namespaces/load/serviceaccounts';
export const keyPrefix = '/registry/serviceaccounts/load/';

/** So few that clients meet all the time. */
const names = Array.from({ length: 12 }, (_, at) => `account-${at}`);

/** Between an answer and the next question of a client: leaves a small machine time for etcd, too. */
const thinkMs = 4;

/** Clients that do what they like to a few objects, and write down all of it. */
export function mixedLoad(clients: readonly Client[], random: Random): MixedLoad {
  const history: Attempt[] = [];
  const stopping = new AbortController();
  const loops = clients.map(async (client, at) => {
    const name = `client-${at}`;
    const lastSeen = new Map<string, number>();
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const action = chosen(random, lastSeen);
      const attempt = await performed(client, name, `${name}-${turn}`, action);
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

function chosen(random: Random, lastSeen: ReadonlyMap<string, number>): Action {
  const name = names[random.below(names.length)] as string;
  const choice = random.below(100);
  if (choice < 20) return { verb: 'create', name };
  if (choice < 40) return { verb: 'get', name };
  if (choice < 55) return { verb: 'patch', name };
  if (choice < 65) return { verb: 'replace', name, expected: undefined };
  if (choice < 80) return { verb: 'replace', name, expected: lastSeen.get(name) };
  return choice < 92 ? { verb: 'delete', name } : { verb: 'list' };
}

async function performed(client: Client, name: string, id: string, action: Action): Promise<Attempt> {
  const { method, path, options } = requestFor(name, id, action);
  const invokedMs = clock.monotonicMs();
  const attempt = { id, client: name, action, invokedMs };
  try {
    const outcome = outcomeOf(action, await client.request(method, path, options));
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

function requestFor(
  client: string,
  id: string,
  action: Action,
): { method: string; path: string; options?: RequestOptions } {
  if (action.verb === 'list') return { method: 'GET', path: collection };
  const { name } = action;
  const path = `${collection}/${name}`;
  const annotations = { [attemptAnnotation]: id };
  switch (action.verb) {
    case 'create':
      return { method: 'POST', path: collection, options: { body: { metadata: { name, annotations } } } };
    case 'replace': {
      const expected = action.expected === undefined ? {} : { resourceVersion: `${action.expected}` };
      return { method: 'PUT', path, options: { body: { metadata: { name, annotations, ...expected } } } };
    }
    case 'patch': {
      const body = { metadata: { annotations: { ...annotations, [patchAnnotation(client)]: id } } };
      return { method: 'PATCH', path, options: { body, contentType: 'application/merge-patch+json' } };
    }
    default:
      return { method: action.verb === 'get' ? 'GET' : 'DELETE', path };
  }
}

const success: Readonly<Record<Action['verb'], number>> = {
  create: 201,
  get: 200,
  list: 200,
  replace: 200,
  patch: 200,
  delete: 200,
};

function outcomeOf(action: Action, { status, retryAfter, body }: Answer): Outcome {
  const nonsense: Outcome = { told: 'nonsense', what: `${status} ${body}` };
  if (status === 503) return retryAfter ? { told: 'unavailable' } : nonsense;
  const answer = parsed(body);
  if (status === 404 && action.verb !== 'create' && action.verb !== 'list') return { told: 'absent' };
  if (status === 409 && action.verb === 'create' && answer?.reason === 'AlreadyExists') return { told: 'exists' };
  if (status === 409 && action.verb === 'replace' && answer?.reason === 'Conflict') return { told: 'conflict' };
  const revision = Number(answer?.metadata?.resourceVersion);
  if (status !== success[action.verb] || !(revision > 0)) return nonsense;
  if (action.verb === 'get')
    return { told: 'found', revision, attempt: answer?.metadata?.annotations?.[attemptAnnotation] };
  if (action.verb !== 'list') return { told: 'written', revision };
  return {
    told: 'listed',
    revision,
    items: new Map(answer?.items?.map(({ metadata }) => [metadata.name, Number(metadata.resourceVersion)])),
  };
}

/** As much of what the server sends as a history needs. */
interface Sent {
  readonly reason?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly items?: readonly { readonly metadata: { readonly name: string; readonly resourceVersion: string } }[];
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
