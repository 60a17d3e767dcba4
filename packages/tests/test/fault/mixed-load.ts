import { type Random, sleep, systemClock as clock } from '@cluster-apiserver/base';
import type { Change } from '../etcd.ts';
import { listed, outcomeOf, stateOf } from './answers.ts';
import { type Client, NoAnswerError } from './client.ts';
import {
  type Action,
  appliedPlace,
  type Attempt,
  attemptPlace,
  counterPlace,
  type Entry,
  type Living,
  type Outcome,
  type Values,
} from './history.ts';
import { requestFor, type Single } from './requests.ts';

export interface MixedLoad {
  readonly history: readonly Attempt[];
  /** Tells the clients to end, and resolves when their last answers are there. */
  stop(): Promise<void>;
}

export const keyPrefix = '/registry/serviceaccounts/';

export const namespaces = ['load-a', 'load-b'] as const;
/** What most writes paint their object with anew, as a label: so that objects come into the view of selectors and leave it. */
export const colours = ['red', 'green', 'blue'] as const;

/** So few that clients meet all the time. */
const names = namespaces.flatMap((namespace) => Array.from({ length: 6 }, (_, at) => `${namespace}/account-${at}`));

/** Between an answer and the next question of a client: leaves a small machine time for etcd, too. */
const shortThinkMs = 4;

/** Less than a namespace often holds, so that most lists take more than one. */
const chunkObjects = 2;

interface MixedLoadOptions {
  readonly thinkMs?: number;
}

/** Clients that do what they like to a few objects, and write down all of it. */
export function mixedLoad(
  clients: readonly Client[],
  random: Random,
  { thinkMs = shortThinkMs }: MixedLoadOptions = {},
): MixedLoad {
  const history: Attempt[] = [];
  const stopping = new AbortController();
  const loops = clients.map(async (client, at) => {
    const name = `client-${at}`;
    const lastSeen = new Map<string, Living>();
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const id = `${name}-${turn}`;
      const action = chosen(random, id, lastSeen);
      const attempt = await performed(client, { id, client: name, action });
      history.push(attempt);
      const { outcome } = attempt;
      if ('name' in action && (outcome.told === 'found' || outcome.told === 'written'))
        lastSeen.set(action.name, outcome);
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

function chosen(random: Random, id: string, lastSeen: ReadonlyMap<string, Living>): Action {
  const name = pick(random, names);
  const seen = lastSeen.get(name);
  const own = { [attemptPlace]: id };
  const painted = { ...own, 'labels/colour': pick(random, colours) };
  const expected = random.below(4) === 0 ? seen?.revision : undefined;
  const choice = random.below(100);
  if (choice < 18) return { verb: 'create', name, values: painted };
  if (choice < 34) return { verb: 'get', name };
  if (choice < 40) return { verb: 'replace', name, values: painted, expected: undefined };
  if (choice < 48) return { verb: 'replace', name, values: painted, expected: seen?.revision };
  if (choice < 57)
    return { verb: 'merge', name, values: { ...painted, [`annotations/${pick(random, members)}`]: id }, expected };
  if (choice < 65) return { verb: 'strategic', name, ...secretsFor(random, painted), expected };
  if (choice < 73) return { verb: 'count', name, values: own, counted: seen?.state.values[counterPlace], expected };
  if (choice < 83) return { verb: 'apply', name, ...applicationFor(random, id), expected };
  if (choice < 93) return { verb: 'delete', name };
  return {
    verb: 'list',
    namespace: pick(random, [undefined, ...namespaces]),
    limit: pick(random, [undefined, chunkObjects]),
  };
}

/** Sets that grow until somebody replaces or deletes their object. */
const members = ['member-a', 'member-b', 'member-c', 'member-d'];
const secrets = ['secrets/one', 'secrets/two', 'secrets/three'];
const managers = ['manager-a', 'manager-b', 'manager-c'];

/** One more, one less, or both. */
function secretsFor(random: Random, values: Values): { values: Values; removed: readonly string[] } {
  const [more, less] = [pick(random, secrets), pick(random, secrets)];
  const removed = random.below(2) === 0 ? [less] : [];
  return { values: removed.includes(more) ? values : { ...values, [more]: '' }, removed };
}

/** What a manager wants now: a place of its own, and some that others write, too. */
function applicationFor(random: Random, id: string): { manager: string; force: boolean; values: Values } {
  const manager = pick(random, managers);
  const wanted: Values[] = [
    { 'labels/colour': pick(random, colours) },
    { 'annotations/shared': pick(random, ['one way', 'another']) },
    { [pick(random, secrets)]: '' },
    { [pick(random, secrets)]: '' },
  ];
  const values: Values = Object.assign({ [appliedPlace(manager)]: id }, ...wanted.filter(() => random.below(2) === 0));
  return { manager, force: random.below(3) === 0, values };
}

const pick = <T>(random: Random, some: readonly T[]): T => some[random.below(some.length)] as T; // none is empty

async function performed(client: Client, asked: Pick<Attempt, 'id' | 'client' | 'action'>): Promise<Attempt> {
  const { action } = asked;
  const attempt = { ...asked, invokedMs: clock.monotonicMs() };
  try {
    const outcome = await (action.verb === 'list' ? listed(client, action) : single(client, action));
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

async function single(client: Client, action: Single): Promise<Outcome> {
  const { method, path, options } = requestFor(action);
  return outcomeOf(action, await client.request(method, path, options));
}

/** etcd's own log of the objects of the load. */
export const entriesOf = (changes: readonly Change[]): Entry[] =>
  changes.map(({ revision, key, value }) => ({
    revision,
    name: key.slice(keyPrefix.length),
    state: value === undefined ? undefined : stateOf(value),
  }));
