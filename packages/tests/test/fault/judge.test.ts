import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import { type Action, type Attempt, attemptAnnotation, type Entry, type Outcome, type State } from './history.ts';
import { judge } from './judge.ts';
import { type Told, unanswered, world } from './world.ts';

// The judge is only worth as much as the lies it finds. So a small world that is right by construction makes histories,
// and each test breaks one in a way that a broken server would.

const seeds = Array.from({ length: 20 }, (_, seed) => seed);

test.each(seeds)('what is right is left alone (seed %i)', (seed) => {
  const { history, log } = world(seed);
  expect(judge(history, log)).toEqual([]);
});

/** How a history is broken; false when it holds nothing that can be broken this way. */
type Lie = (told: Told, random: Random) => boolean;

const lies: Record<string, Lie> = {
  'an answered write is missing': ({ history, log }, random) => {
    const entry = pick(log, random, (entry) => wasTold(history, entry));
    return entry !== undefined && log.splice(log.indexOf(entry), 1).length === 1;
  },
  'a write is there twice': ({ log }, random) => {
    const entry = pick(log, random, ({ state }) => state !== undefined);
    return entry !== undefined && log.push({ ...entry, revision: (log.at(-1)?.revision ?? 0) + 1 }) > 0;
  },
  'a write was asked for by nobody': ({ log }) =>
    log.push({
      name: 'a',
      revision: (log.at(-1)?.revision ?? 0) + 1,
      state: { uid: 'x', annotations: { [attemptAnnotation]: 'stranger' } },
    }) > 0,
  'a deletion was asked for by nobody': ({ history, log }) => {
    const living = history.findLast(({ action }) => action.verb === 'create');
    if (!living || !('name' in living.action)) return false;
    return log.push({ name: living.action.name, revision: (log.at(-1)?.revision ?? 0) + 1, state: undefined }) > 0;
  },
  'a refused write happened': (told, random) => retell(told, random, 'written', () => ({ told: 'absent' })),
  'two deletions were told of one': ({ history }, random) => {
    const deletion = pick(
      history,
      random,
      ({ action, outcome }) => action.verb === 'delete' && outcome.told === 'written',
    );
    return deletion !== undefined && history.push({ ...deletion, id: 'again' }) > 0;
  },
  'a write was told with another revision': (told, random) =>
    retell(told, random, 'written', (outcome) => ({
      ...outcome,
      revision: (outcome as { revision: number }).revision + 1_000,
    })),
  'a state was seen before it was written': ({ history, log }, random) => {
    const read = pick(history, random, ({ outcome }) => outcome.told === 'found');
    if (read?.outcome.told !== 'found') return false;
    const written = log.find(({ revision }) => revision === (read.outcome as { revision: number }).revision);
    const writer = history.find(({ id }) => id === written?.state?.annotations[attemptAnnotation]);
    return (
      writer !== undefined &&
      swap(history, read, { ...read, invokedMs: writer.invokedMs - 2, returnedMs: writer.invokedMs - 1 })
    );
  },
  'a state was seen after the next one was told of': ({ history, log }, random) => {
    const read = pick(
      history,
      random,
      ({ outcome, action }) => outcome.told === 'found' && followed(log, outcome.revision, action),
    );
    const lateMs = Math.max(...history.map(({ returnedMs }) => returnedMs)) + 1;
    return read !== undefined && swap(history, read, { ...read, invokedMs: lateMs, returnedMs: lateMs + 1 });
  },
  'a state was seen that never was': (told, random) =>
    retell(told, random, 'found', (outcome) => ({ ...outcome, revision: 999_999 }) as Outcome),
  'a state was seen with the content of another': (told, random) =>
    retell(told, random, 'found', (outcome) => ({ ...outcome, attempt: 'other' }) as Outcome),
  'an object was not found that was there all the time': ({ history, log }) => {
    const name = log.findLast(({ state }) => state !== undefined)?.name;
    const last = log.findLast((entry) => entry.name === name);
    if (!last?.state || name === undefined || !wasTold(history, last)) return false;
    const lateMs = Math.max(...history.map(({ returnedMs }) => returnedMs)) + 1;
    return history.push(attempt({ verb: 'get', name }, { told: 'absent' }, lateMs)) > 0;
  },
  'an object was in the way that was not there': ({ history }) =>
    history.push(attempt({ verb: 'create', name: 'never' }, { told: 'exists' }, 1)) > 0,
  'a conflict was told with the revision that was there': ({ history, log }) => {
    const last = log.findLast((entry) => entry.state !== undefined && lastOf(log, entry) && wasTold(history, entry));
    if (!last) return false;
    const lateMs = Math.max(...history.map(({ returnedMs }) => returnedMs)) + 1;
    return (
      history.push(
        attempt({ verb: 'replace', name: last.name, expected: last.revision }, { told: 'conflict' }, lateMs),
      ) > 0
    );
  },
  'a replacement went over another revision than it expected': ({ history, log }, random) => {
    const blind = pick(
      history,
      random,
      ({ action, outcome }) => action.verb === 'replace' && action.expected === undefined && outcome.told === 'written',
    );
    return (
      log.length > 0 &&
      blind?.action.verb === 'replace' &&
      swap(history, blind, { ...blind, action: { ...blind.action, expected: 1 } })
    );
  },
  'a patch forgot what another had written': ({ log }, random) => {
    const entry = pick(log, random, ({ state }) => Object.keys(state?.annotations ?? {}).length > 2);
    if (!entry?.state) return false;
    const [forgotten] = Object.keys(entry.state.annotations).filter(
      (name) =>
        name.startsWith('patched-by-') &&
        entry.state?.annotations[name] !== entry.state?.annotations[attemptAnnotation],
    );
    const { [forgotten ?? '']: _, ...annotations } = entry.state.annotations;
    return forgotten !== undefined && swap(log, entry, { ...entry, state: { ...entry.state, annotations } });
  },
  'an object was made anew under the hands of a writer': ({ log }, random) => {
    const entry = pick(
      log,
      random,
      ({ state }, at) =>
        state !== undefined &&
        log.slice(0, at).some((earlier) => earlier.name === log[at]?.name && earlier.state?.uid === state.uid),
    );
    return entry?.state !== undefined && swap(log, entry, { ...entry, state: { ...entry.state, uid: 'another' } });
  },
  'a list left something out': (told, random) => relist(told, random, (items) => items.slice(1)),
  'a list held something older': (told, random) =>
    relist(told, random, ([[name, revision] = ['', 0], ...rest]) => [[name, revision - 1], ...rest]),
  'a list is of a state before the last that was told': ({ history, log }, random) => {
    const listing = pick(
      history,
      random,
      ({ outcome }) => outcome.told === 'listed' && outcome.revision < (log.at(-1)?.revision ?? 0),
    );
    const lateMs = Math.max(...history.map(({ returnedMs }) => returnedMs)) + 1;
    return listing !== undefined && swap(history, listing, { ...listing, invokedMs: lateMs, returnedMs: lateMs + 1 });
  },
  'an answer was of no use': (told, random) => retell(told, random, 'found', () => ({ told: 'nonsense', what: '500' })),
};

test.each(Object.entries(lies))('it is found that %s', (_, lie) => {
  let broken = 0;
  for (const seed of seeds) {
    const told = world(seed);
    if (!lie(told, seededRandom(seed + 1))) continue;
    broken += 1;
    expect({ seed, found: judge(told.history, told.log).length > 0 }).toEqual({ seed, found: true });
  }
  expect(broken).toBeGreaterThan(seeds.length / 2);
});

test('a write without an answer may have happened, late or never', () => {
  const silent = (id: string): Attempt => ({ ...attempt({ verb: 'create', name: id }, unanswered, 1), id });
  const late = { ...attempt({ verb: 'get', name: 'a' }, { told: 'absent' }, 100), id: 'reader' };
  const log = [{ revision: 2, name: 'a', state: { uid: '1', annotations: { [attemptAnnotation]: 'a' } } }];
  expect(judge([silent('a'), silent('b'), late], log)).toEqual([]);
  expect(judge([silent('a'), silent('b')], [...log, { ...(log[0] as Entry), revision: 3 }])).not.toEqual([]);
});

test('the rest of a list may expire when somebody has asked to forget its snapshot, and not before', () => {
  const expired = attempt({ verb: 'list', limit: 2 }, { told: 'expired', revision: 5 }, 10);
  expect(judge([expired], [], [{ revision: 6, askedMs: 11 }])).toEqual([]);
  expect(judge([expired], [], [{ revision: 6, askedMs: 12 }])).toHaveLength(1);
  expect(judge([expired], [], [{ revision: 5, askedMs: 1 }])).toHaveLength(1);
  expect(judge([expired], [])).toHaveLength(1);
});

test('a list of one namespace is not asked about the objects of another', () => {
  const state = (id: string): State => ({ uid: id, annotations: { [attemptAnnotation]: id } });
  const log = [
    { revision: 2, name: 'a/x', state: state('x') },
    { revision: 3, name: 'b/y', state: state('y') },
  ];
  const writers = log.map(({ name, revision, state }) => ({
    ...attempt({ verb: 'create', name }, { told: 'written', revision }, 1),
    id: state.uid,
  }));
  const listed = (namespace: string | undefined, items: readonly [string, number][]): Attempt =>
    attempt({ verb: 'list', namespace }, { told: 'listed', revision: 3, items: new Map(items) }, 20);
  expect(judge([...writers, listed('a', [['a/x', 2]])], log)).toEqual([]);
  expect(judge([...writers, listed(undefined, [['a/x', 2]])], log)).toHaveLength(1);
  expect(judge([...writers, listed('b', [['a/x', 2]])], log)).toHaveLength(1);
});

test('each deletion without an answer accounts for one removal', () => {
  const made = (id: string, revision: number): Attempt => ({
    ...attempt({ verb: 'create', name: 'a' }, { told: 'written', revision }, revision * 10),
    id,
  });
  const state = (id: string): State => ({ uid: id, annotations: { [attemptAnnotation]: id } });
  const silent = attempt({ verb: 'delete', name: 'a' }, unanswered, 1);
  const log = [
    { revision: 2, name: 'a', state: state('x') },
    { revision: 3, name: 'a', state: undefined },
    { revision: 4, name: 'a', state: state('y') },
  ];
  expect(judge([silent, made('x', 2), made('y', 4)], log)).toEqual([]);
  expect(
    judge([silent, made('x', 2), made('y', 4)], [...log, { revision: 5, name: 'a', state: undefined }]),
  ).toHaveLength(1);
});

const attempt = (action: Action, outcome: Outcome, invokedMs: number): Attempt => ({
  id: 'extra',
  client: 'z',
  action,
  outcome,
  invokedMs,
  returnedMs: invokedMs + 1,
});

const wasTold = (history: readonly Attempt[], { revision }: Entry): boolean =>
  history.some(({ outcome }) => outcome.told === 'written' && outcome.revision === revision);

const lastOf = (log: readonly Entry[], entry: Entry): boolean =>
  log.findLast(({ name }) => name === entry.name) === entry;

const followed = (log: readonly Entry[], revision: number, action: Action): boolean =>
  'name' in action && log.some((entry) => entry.name === action.name && entry.revision > revision);

function pick<T>(all: readonly T[], random: Random, fact: (one: T, at: number) => boolean): T | undefined {
  const fitting = all.filter(fact);
  return fitting[random.below(fitting.length)];
}

function swap<T>(all: T[], old: T, next: T): boolean {
  all[all.indexOf(old)] = next;
  return true;
}

function retell({ history }: Told, random: Random, told: Outcome['told'], lie: (outcome: Outcome) => Outcome): boolean {
  const one = pick(history, random, ({ outcome }) => outcome.told === told);
  return one !== undefined && swap(history, one, { ...one, outcome: lie(one.outcome) });
}

function relist(
  { history }: Told,
  random: Random,
  lie: (items: (readonly [string, number])[]) => (readonly [string, number])[],
): boolean {
  const one = pick(history, random, ({ outcome }) => outcome.told === 'listed' && outcome.items.size > 0);
  if (one?.outcome.told !== 'listed') return false;
  return swap(history, one, { ...one, outcome: { ...one.outcome, items: new Map(lie([...one.outcome.items])) } });
}
