import { type Random, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { readList, outcomeOf } from './outcomes.ts';
import { type Client, NoResponseError } from '@cluster-apiserver/testkit/api-client';
import { type JudgedResource, locate, serviceAccounts } from './judged-resources.ts';
import {
  type Action,
  applyIdPath,
  type Operation,
  operationIdPath,
  counterPath,
  type StoredVersion,
  type Outcome,
  type Values,
} from './history.ts';
import { requestFor, type Single } from './requests.ts';

export interface MixedLoad {
  readonly history: readonly Operation[];
  /** Stops the clients, and resolves after their last responses. */
  stop(): Promise<void>;
}

export const namespaces = ['load-a', 'load-b'] as const;
/** Label values that most writes change, so that objects enter and leave label selectors. */
export const colours = ['red', 'green', 'blue'] as const;

/** Few names, so that clients often contend. */
const namesOf = ({ prefix }: JudgedResource, count: number): readonly string[] =>
  namespaces.flatMap((namespace) => Array.from({ length: count }, (_, at) => `${prefix}${namespace}/object-${at}`));
const namesInNamespace = 6;

/** Pause between a response and the next request of a client, which leaves a small machine time for etcd. */
const shortThinkMs = 4;

/** Fewer than the objects of most namespaces, so that most lists need several chunks. */
const chunkObjects = 2;

interface MixedLoadOptions {
  /** Prefix of client names, to distinguish several loads. */
  readonly idPrefix?: string;
  readonly thinkMs?: number;
  readonly shares?: Shares;
  /** Those whose objects it changes. */
  readonly resources?: readonly JudgedResource[];
}

/** Relative frequency of each verb. */
type Shares = Readonly<Record<Action['verb'], number>>;

const ofEverything: Shares = {
  create: 18,
  get: 16,
  list: 7,
  replace: 14,
  merge: 9,
  strategic: 8,
  count: 8,
  apply: 10,
  delete: 10,
};

/** Few deletions, so that objects live long enough for many patches. */
export const aboveAllPatches: Shares = {
  create: 10,
  get: 14,
  list: 2,
  replace: 4,
  merge: 16,
  strategic: 16,
  count: 16,
  apply: 18,
  delete: 4,
};

/** Starts clients that send random operations for a few objects, and records all of them. */
export function mixedLoad(
  clients: readonly Client[],
  random: Random,
  {
    idPrefix: called = 'client',
    thinkMs = shortThinkMs,
    shares = ofEverything,
    resources = [serviceAccounts],
  }: MixedLoadOptions = {},
): MixedLoad {
  const names = resources.flatMap((resource) => namesOf(resource, namesInNamespace / resources.length));
  const history: Operation[] = [];
  const stopping = new AbortController();
  const loops = clients.map(async (client, at) => {
    const name = `${called}-${at}`;
    const lastSeen = new Map<string, StoredVersion>();
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      const id = `${name}-${turn}`;
      const chosen = pick(random, names);
      const action = actions[chooseVerb(random, shares)]({ random, id, name: chosen, seen: lastSeen.get(chosen) });
      const operation = await performOperation(client, { id, client: name, action });
      history.push(operation);
      const { outcome } = operation;
      if ('name' in action && (outcome.result === 'found' || outcome.result === 'written'))
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

function chooseVerb(random: Random, shares: Shares): Action['verb'] {
  const verbs = (Object.keys(shares) as Action['verb'][]).flatMap((verb) => new Array(shares[verb]).fill(verb));
  return pick(random, verbs);
}

interface Turn {
  readonly random: Random;
  readonly id: string;
  /** Of an object. */
  readonly name: string;
  /** The last version that this client has read. */
  readonly seen: StoredVersion | undefined;
}

const actions: Readonly<Record<Action['verb'], (turn: Turn) => Action>> = {
  get: ({ name }) => ({ verb: 'get', name }),
  delete: ({ name }) => ({ verb: 'delete', name }),
  list: ({ random, name }) => ({
    verb: 'list',
    within: `${locate(name).resource.prefix}${pick(random, ['', ...namespaces.map((namespace) => `${namespace}/`)])}`,
    limit: pick(random, [undefined, chunkObjects]),
  }),
  create: (turn) => ({ verb: 'create', name: turn.name, values: withRandomColour(turn) }),
  replace: (turn) => {
    const { name, seen } = turn;
    const { isCustom } = locate(name).resource;
    if (isCustom && !seen) return mergeMember(turn);
    const revision = isCustom ? seen?.revision : expected(turn, 2);
    return { verb: 'replace', name, values: withRandomColour(turn), expected: revision };
  },
  merge: mergeMember,
  strategic: (turn) =>
    locate(turn.name).resource.isCustom
      ? mergeMember(turn)
      : { verb: 'strategic', name: turn.name, ...secretsFor(turn), expected: expected(turn, 4) },
  count: (turn) => ({
    verb: 'count',
    name: turn.name,
    values: { [operationIdPath]: turn.id },
    counted: turn.seen?.state.values[counterPath],
    expected: expected(turn, 4),
  }),
  apply: (turn) => ({ verb: 'apply', name: turn.name, ...applicationFor(turn), expected: expected(turn, 4) }),
};

function mergeMember(turn: Turn): Action {
  const member = { [`annotations/${pick(turn.random, members)}`]: turn.id };
  return {
    verb: 'merge',
    name: turn.name,
    values: { ...withRandomColour(turn), ...member },
    expected: expected(turn, 4),
  };
}

const withRandomColour = ({ random, id }: Turn): Values => ({
  [operationIdPath]: id,
  'labels/colour': pick(random, colours),
});

/** One of `outOf` writes has the last read revision as precondition, which is often outdated. */
const expected = ({ random, seen }: Turn, outOf: number): number | undefined =>
  random.below(outOf) === 0 ? seen?.revision : undefined;

/** Sets that grow until a write replaces or deletes their object. */
const members = ['member-a', 'member-b', 'member-c', 'member-d'];
const secrets = ['secrets/one', 'secrets/two', 'secrets/three'];
const managers = ['manager-a', 'manager-b', 'manager-c'];

/** Adds a secret, removes one, or both. */
function secretsFor(turn: Turn): { values: Values; removed: readonly string[] } {
  const { random } = turn;
  const values = withRandomColour(turn);
  const [more, less] = [pick(random, secrets), pick(random, secrets)];
  const removed = random.below(2) === 0 ? [less] : [];
  return { values: removed.includes(more) ? values : { ...values, [more]: '' }, removed };
}

/** A manager's fields: one of its own and some that others also write. */
function applicationFor({ random, id }: Turn): { manager: string; force: boolean; values: Values } {
  const manager = pick(random, managers);
  const wanted: Values[] = [
    { 'labels/colour': pick(random, colours) },
    { 'annotations/shared': pick(random, ['one way', 'another']) },
    { [pick(random, secrets)]: '' },
    { [pick(random, secrets)]: '' },
  ];
  const values: Values = Object.assign({ [applyIdPath(manager)]: id }, ...wanted.filter(() => random.below(2) === 0));
  return { manager, force: random.below(3) === 0, values };
}

const pick = <T>(random: Random, some: readonly T[]): T => some[random.below(some.length)] as T; // never empty

async function performOperation(
  client: Client,
  request: Pick<Operation, 'id' | 'client' | 'action'>,
): Promise<Operation> {
  const { action } = request;
  const operation = { ...request, invokedMs: clock.monotonicMs() };
  try {
    const outcome = await (action.verb === 'list' ? readList(client, action) : sendSingle(client, action));
    return { ...operation, outcome, returnedMs: clock.monotonicMs() };
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error;
    return {
      ...operation,
      outcome: { result: 'no response', why: error.message, connectedMs: error.connectedMs },
      returnedMs: clock.monotonicMs(),
    };
  }
}

async function sendSingle(client: Client, action: Single): Promise<Outcome> {
  const { method, path, options } = requestFor(action);
  return outcomeOf(action, await client.request(method, path, options));
}
