import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import {
  type Action,
  type Operation,
  applyIdPath,
  operationIdPath,
  counterPath,
  type Entry,
  type Outcome,
  type FieldPath,
  type State,
  updates,
  type Write,
} from './history.ts';
import { checkHistory } from './check-history.ts';
import { withoutTwins } from './twins.ts';
import { type SimulatedHistory, unanswered, simulateHistory } from './simulated-history.ts';

// Tests the checker: a simulated store produces correct histories, and each test injects one defect that a broken
// server could cause.

const seeds = Array.from({ length: 20 }, (_, seed) => seed);

test.each(seeds)('a correct history has no violations (seed %i)', (seed) => {
  const { history, log } = simulateHistory(seed);
  expect(checkHistory(history, log)).toEqual([]);
});

/** Injects a defect into a history; returns false if the history has no place for it. */
type Defect = (simulation: SimulatedHistory, random: Random) => boolean;

const defects: Record<string, Defect> = {
  'an acknowledged write is missing': ({ history, log }, random) => {
    const entry = pick(log, random, (entry) => wasAcknowledged(history, entry));
    return entry !== undefined && log.splice(log.indexOf(entry), 1).length === 1;
  },
  'a write appears twice': ({ log }, random) => {
    const entry = pick(log, random, ({ state }) => state !== undefined);
    return entry !== undefined && log.push({ ...entry, revision: (log.at(-1)?.revision ?? 0) + 1 }) > 0;
  },
  'a write has no operation': ({ log }) =>
    log.push({
      name: 'a',
      revision: (log.at(-1)?.revision ?? 0) + 1,
      state: written('stranger'),
    }) > 0,
  'a deletion has no operation': ({ history, log }) => {
    const living = history.findLast(({ action }) => action.verb === 'create');
    if (!living || !('name' in living.action)) return false;
    return log.push({ name: living.action.name, revision: (log.at(-1)?.revision ?? 0) + 1, state: undefined }) > 0;
  },
  'a rejected write took effect': (simulation, random) =>
    changeOutcome(simulation, random, 'written', () => ({ result: 'absent' })),
  'two deletions were acknowledged for one removal': ({ history }, random) => {
    const deletion = pick(
      history,
      random,
      ({ action, outcome }) => action.verb === 'delete' && outcome.result === 'written',
    );
    return deletion !== undefined && history.push({ ...deletion, id: 'again' }) > 0;
  },
  'a write was acknowledged with another revision': (simulation, random) =>
    changeOutcome(simulation, random, 'written', (outcome) => ({
      ...outcome,
      revision: (outcome as { revision: number }).revision + 1_000,
    })),
  'a deletion was acknowledged with the uid of another object': (simulation, random) =>
    changeOutcome(simulation, random, 'deleted', (outcome) => ({ ...outcome, uid: 'other' }) as Outcome),
  'a state was read before it was written': ({ history, log }, random) => {
    const read = pick(history, random, ({ outcome }) => outcome.result === 'found');
    if (read?.outcome.result !== 'found') return false;
    const written = log.find(({ revision }) => revision === (read.outcome as { revision: number }).revision);
    const writer = history.find(
      ({ outcome }) => outcome.result === 'written' && outcome.revision === written?.revision,
    );
    return (
      writer !== undefined &&
      swap(history, read, { ...read, invokedMs: writer.invokedMs - 2, returnedMs: writer.invokedMs - 1 })
    );
  },
  'a state was read after its successor was reported': ({ history, log }, random) => {
    const read = pick(
      history,
      random,
      ({ outcome, action }) => outcome.result === 'found' && hasSuccessor(log, outcome.revision, action),
    );
    return (
      read !== undefined &&
      swap(history, read, { ...read, invokedMs: lateMs(history), returnedMs: lateMs(history) + 1 })
    );
  },
  'a read returned a revision that never existed': (simulation, random) =>
    changeOutcome(simulation, random, 'found', (outcome) => ({ ...outcome, revision: 999_999 }) as Outcome),
  'a read returned the content of another object': (simulation, random) =>
    changeOutcome(simulation, random, 'found', (outcome) => ({ ...outcome, state: written('other') }) as Outcome),
  'a write was acknowledged with the content of another': (simulation, random) =>
    changeOutcome(simulation, random, 'written', (outcome) => ({ ...outcome, state: written('other') }) as Outcome),
  'an existing object was not found': ({ history, log }) => {
    const name = log.findLast(({ state }) => state !== undefined)?.name;
    const last = log.findLast((entry) => entry.name === name);
    if (!last?.state || name === undefined || !wasAcknowledged(history, last)) return false;
    return history.push(operation({ verb: 'get', name }, { result: 'absent' }, lateMs(history))) > 0;
  },
  'a creation conflicted with a missing object': ({ history }) =>
    history.push(operation({ verb: 'create', name: 'never', values: {} }, { result: 'exists' }, 1)) > 0,
  'a conflict was reported although the expected revision was current': ({ history, log }) => {
    const last = log.findLast(
      (entry) => entry.state !== undefined && lastOf(log, entry) && wasAcknowledged(history, entry),
    );
    if (!last) return false;
    return (
      history.push(
        operation(
          { verb: 'replace', name: last.name, values: {}, expected: last.revision },
          { result: 'conflict' },
          lateMs(history),
        ),
      ) > 0
    );
  },
  'a replacement ignored its resourceVersion precondition': ({ history, log }, random) => {
    const blind = pick(
      history,
      random,
      ({ action, outcome }) =>
        action.verb === 'replace' && action.expected === undefined && outcome.result === 'written',
    );
    return (
      log.length > 0 &&
      blind?.action.verb === 'replace' &&
      swap(history, blind, { ...blind, action: { ...blind.action, expected: 1 } })
    );
  },
  'a merge removed a value of another client': (simulation, random) =>
    changeWrite(simulation, random, ['merge'], (state, before) => {
      const place = Object.keys(before.values).find((place) => state.values[place] === before.values[place]);
      return place === undefined ? undefined : without(state, place);
    }),
  'a merge did not write its values': (simulation, random) =>
    changeWrite(simulation, random, ['merge'], (state) => {
      const place = Object.keys(state.values).find((place) => place.startsWith('annotations/member-'));
      return place === undefined ? undefined : without(state, place);
    }),
  'one operation incremented a counter twice': (simulation, random) =>
    changeWrite(simulation, random, ['count'], (state) =>
      withValue(state, counterPath, `${Number(state.values[counterPath]) + 1}`),
    ),
  'a counter was incremented by no operation': (simulation, random) =>
    changeWrite(simulation, random, ['merge', 'strategic', 'apply'], (state) =>
      withValue(state, counterPath, `${Number(state.values[counterPath] ?? 0) + 1}`),
    ),
  'a counter was tested but not incremented': (simulation, random) =>
    changeWrite(simulation, random, ['count'], (state, before) => {
      const counted = before.values[counterPath];
      return counted === undefined ? without(state, counterPath) : withValue(state, counterPath, counted);
    }),
  'a write took effect although its test failed': (simulation, random) =>
    changeAction(simulation, random, 'count', (action) => ({ ...action, counted: '999' })),
  'a test failed although the counter was unchanged': ({ history, log }) => {
    const last = log.findLast((entry) => lastOf(log, entry) && wasAcknowledged(history, entry));
    const counted = last?.state?.values[counterPath];
    if (!last?.state) return false;
    const action: Write = { verb: 'count', name: last.name, values: {}, counted, expected: undefined };
    return history.push(operation(action, { result: 'failed' }, lateMs(history))) > 0;
  },
  'a strategic merge lost a secret': (simulation, random) =>
    changeWrite(simulation, random, ['strategic'], (state) => {
      const place = Object.keys(state.values).find((place) => place.startsWith('secrets/'));
      return place === undefined ? undefined : without(state, place);
    }),
  'a strategic merge kept a removed secret': ({ history, log }, random) => {
    const entry = pick(log, random, ({ revision }) => {
      const owner = writerAt(history, revision)?.action;
      return owner?.verb === 'strategic' && owner.removed.length > 0;
    });
    const action = entry && writerAt(history, entry.revision)?.action;
    const [removed] = action?.verb === 'strategic' ? action.removed : [];
    return (
      entry?.state !== undefined &&
      removed !== undefined &&
      swap(log, entry, { ...entry, state: withValue(entry.state, removed, '') })
    );
  },
  'an apply kept a field that its manager no longer applies': (simulation, random) =>
    changeWrite(simulation, random, ['apply'], (state, before, action) => {
      const place = Object.keys(before.values).find((place) => state.values[place] === undefined);
      return place === undefined || action.verb !== 'apply' ? undefined : withValue(state, place, before.values[place]);
    }),
  'an apply removed a field of other managers': (simulation, random) =>
    changeWrite(simulation, random, ['apply'], (state) => {
      const place = state.owners[updates]?.[0];
      return place === undefined ? undefined : without(state, place);
    }),
  'an apply did not write its values': (simulation, random) =>
    changeWrite(simulation, random, ['apply'], (state, _, action) => {
      const place = 'values' in action && Object.keys(action.values).find((place) => place.startsWith('secrets/'));
      return place ? without(state, place) : undefined;
    }),
  'a forced apply left the field with its former owner': (simulation, random) =>
    changeWrite(simulation, random, ['apply'], (state, before, action) => {
      const places = 'values' in action ? Object.keys(action.values) : [];
      const taken = places.find((place) => owns(before, updates, place) && !owns(state, updates, place));
      return taken === undefined ? undefined : withOwner(state, updates, [...(state.owners[updates] ?? []), taken]);
    }),
  'an owner of an equal value was removed': (simulation, random) =>
    changeWrite(simulation, random, ['apply'], (state, before, action) => {
      if (action.verb !== 'apply') return undefined;
      const shared = Object.keys(action.values).find(
        (place) => owns(before, updates, place) && owns(state, updates, place),
      );
      const rest = state.owners[updates]?.filter((place) => place !== shared);
      return shared === undefined ? undefined : withOwner(state, updates, rest ?? []);
    }),
  'an update left a changed field with its former manager': (simulation, random) =>
    changeWrite(simulation, random, ['create', 'replace', 'merge', 'strategic', 'count'], (state) =>
      withOwner(state, 'one', [...(state.owners['one'] ?? []), operationIdPath]),
    ),
  'an apply took fields without force': (simulation, random) => {
    const { history, log } = simulation;
    const takesFields = (action: Write, before: State | undefined): boolean =>
      action.verb === 'apply' &&
      before !== undefined &&
      Object.entries(action.values).some(
        ([place, value]) => before.values[place] !== value && owns(before, updates, place),
      );
    const entry = pick(log, random, (entry) => {
      const action = writerAt(history, entry.revision)?.action;
      return action?.verb === 'apply' && takesFields(action, beforeOf(log, entry)?.state);
    });
    const owner = entry && writerAt(history, entry.revision);
    return (
      owner?.action.verb === 'apply' && swap(history, owner, { ...owner, action: { ...owner.action, force: false } })
    );
  },
  'an apply was rejected for a field without an owner': ({ history, log }) => {
    const last = log.findLast(
      (entry) => entry.state !== undefined && lastOf(log, entry) && wasAcknowledged(history, entry),
    );
    if (!last) return false;
    const values = { [applyIdPath('nobody')]: 'extra' };
    const action: Write = {
      verb: 'apply',
      name: last.name,
      manager: 'nobody',
      force: false,
      values,
      expected: undefined,
    };
    return history.push(operation(action, { result: 'owned', places: Object.keys(values) }, lateMs(history))) > 0;
  },
  'an apply was rejected for other fields than the conflicting ones': (simulation, random) =>
    changeOutcome(simulation, random, 'owned', () => ({ result: 'owned', places: ['labels/other'] })),
  'an apply was rejected but took effect': (simulation, random) => {
    const { history } = simulation;
    const done = pick(
      history,
      random,
      ({ action, outcome }) => action.verb === 'apply' && outcome.result === 'written',
    );
    return (
      done !== undefined && swap(history, done, { ...done, outcome: { result: 'owned', places: ['labels/colour'] } })
    );
  },
  ...Object.fromEntries(
    (['merge', 'strategic', 'count', 'apply'] as const).flatMap((verb): [string, Defect][] => [
      [
        `a patch went over another revision than it expected (${verb})`,
        (simulation, random) => changeAction(simulation, random, verb, (action) => ({ ...action, expected: 1 })),
      ],
      [
        `a patch without a precondition was rejected with a conflict (${verb})`,
        ({ history, log }, random) => {
          const done = pick(
            history,
            random,
            ({ action, outcome }) =>
              action.verb === verb && action.expected === undefined && outcome.result === 'written',
          );
          if (done?.outcome.result !== 'written') return false;
          const { revision } = done.outcome;
          log.splice(
            log.findIndex((entry) => entry.revision === revision),
            1,
          );
          return swap(history, done, { ...done, outcome: { result: 'conflict' } });
        },
      ],
    ]),
  ),
  'an object was created with values of its predecessor': (simulation, random) =>
    changeWrite(simulation, random, ['create'], (state) => withValue(state, counterPath, '1'), 'over nothing'),
  'an object was recreated during an update': ({ log }, random) => {
    const entry = pick(
      log,
      random,
      ({ state }, at) =>
        state !== undefined &&
        log.slice(0, at).some((earlier) => earlier.name === log[at]?.name && earlier.state?.uid === state.uid),
    );
    return entry?.state !== undefined && swap(log, entry, { ...entry, state: { ...entry.state, uid: 'another' } });
  },
  'a list omitted an object': (simulation, random) => changeList(simulation, random, (items) => items.slice(1)),
  'a list contained an outdated object': (simulation, random) =>
    changeList(simulation, random, ([[name, revision] = ['', 0], ...rest]) => [[name, revision - 1], ...rest]),
  'a list returned a state before the last reported one': ({ history, log }, random) => {
    const listing = pick(
      history,
      random,
      ({ outcome }) => outcome.result === 'listed' && outcome.revision < (log.at(-1)?.revision ?? 0),
    );
    return (
      listing !== undefined &&
      swap(history, listing, { ...listing, invokedMs: lateMs(history), returnedMs: lateMs(history) + 1 })
    );
  },
  'a response was invalid': (simulation, random) =>
    changeOutcome(simulation, random, 'found', () => ({ result: 'invalid', what: '500' })),
};

test.each(Object.entries(defects))('finds that %s', (_, inject) => {
  let broken = 0;
  for (const seed of seeds) {
    const simulation = simulateHistory(seed);
    if (!inject(simulation, seededRandom(seed + 1))) continue;
    broken += 1;
    expect({ seed, found: checkHistory(simulation.history, simulation.log).length > 0 }).toEqual({ seed, found: true });
  }
  expect(broken).toBeGreaterThan(seeds.length / 2);
});

test('a write without a response may have happened late or never', () => {
  const silent = (id: string): Operation => ({
    ...operation({ verb: 'create', name: 'a', values: { [operationIdPath]: id } }, unanswered, 1),
    id,
  });
  const late = { ...operation({ verb: 'get', name: 'a' }, { result: 'absent' }, 100), id: 'reader' };
  const log = [{ revision: 2, name: 'a', state: written('a') }];
  expect(checkHistory([silent('a'), silent('b'), late], log)).toEqual([]);
  expect(checkHistory([silent('a'), silent('b')], [...log, { ...(log[0] as Entry), revision: 3 }])).not.toEqual([]);
});

test('the rest of a list may expire after a compaction of its snapshot was requested, and not before', () => {
  const expired = operation({ verb: 'list', within: '', limit: 2 }, { result: 'expired', revision: 5 }, 10);
  expect(checkHistory([expired], [], [{ revision: 6, requestedMs: 11 }])).toEqual([]);
  expect(checkHistory([expired], [], [{ revision: 6, requestedMs: 12 }])).toHaveLength(1);
  expect(checkHistory([expired], [], [{ revision: 5, requestedMs: 1 }])).toHaveLength(1);
  expect(checkHistory([expired], [])).toHaveLength(1);
});

test('a list of one namespace is not checked against objects of another', () => {
  const log = [
    { revision: 2, name: 'a/x', state: written('x') },
    { revision: 3, name: 'b/y', state: written('y') },
  ];
  const writers = log.map(({ name, revision, state }) => ({
    ...operation({ verb: 'create', name, values: state.values }, { result: 'written', revision, state }, 1),
    id: state.uid,
  }));
  const listOperation = (within: string, items: readonly [string, number][]): Operation =>
    operation({ verb: 'list', within }, { result: 'listed', revision: 3, items: new Map(items) }, 20);
  expect(checkHistory([...writers, listOperation('a/', [['a/x', 2]])], log)).toEqual([]);
  expect(checkHistory([...writers, listOperation('', [['a/x', 2]])], log)).toHaveLength(1);
  expect(checkHistory([...writers, listOperation('b/', [['a/x', 2]])], log)).toHaveLength(1);
});

test('each deletion without a response accounts for one removal', () => {
  const createOperation = (id: string, revision: number): Operation => ({
    ...operation(
      { verb: 'create', name: 'a', values: { [operationIdPath]: id } },
      { result: 'written', revision, state: written(id) },
      revision * 10,
    ),
    id,
  });
  const silent = operation({ verb: 'delete', name: 'a' }, unanswered, 1);
  const log = [
    { revision: 2, name: 'a', state: written('x') },
    { revision: 3, name: 'a', state: undefined },
    { revision: 4, name: 'a', state: written('y') },
  ];
  expect(checkHistory([silent, createOperation('x', 2), createOperation('y', 4)], log)).toEqual([]);
  expect(
    checkHistory(
      [silent, createOperation('x', 2), createOperation('y', 4)],
      [...log, { revision: 5, name: 'a', state: undefined }],
    ),
  ).toHaveLength(1);
});

const operation = (action: Action, outcome: Outcome, invokedMs: number): Operation => ({
  id: 'extra',
  client: 'z',
  action,
  outcome,
  invokedMs,
  returnedMs: invokedMs + 1,
});

/** The state of an object that the operation with this id created. */
const written = (id: string): State => ({
  uid: id,
  values: { [operationIdPath]: id },
  owners: { [updates]: [operationIdPath] },
});

const without = (state: State, gone: FieldPath): State => {
  const { [gone]: _, ...values } = state.values;
  const kept = Object.entries(state.owners).map(([owner, places]) => [owner, places.filter((place) => place !== gone)]);
  return { ...state, values, owners: Object.fromEntries(kept) };
};

const withValue = (state: State, place: FieldPath, value = ''): State => ({
  ...state,
  values: { ...state.values, [place]: value },
});

const owns = ({ owners }: State, owner: string, place: FieldPath): boolean => owners[owner]?.includes(place) ?? false;

const withOwner = (state: State, owner: string, places: readonly FieldPath[]): State => ({
  ...state,
  owners: { ...state.owners, [owner]: places },
});

const lateMs = (history: readonly Operation[]): number => Math.max(...history.map(({ returnedMs }) => returnedMs)) + 1;

const writerAt = (history: readonly Operation[], revision: number): Operation | undefined =>
  history.find(({ outcome }) => outcome.result === 'written' && outcome.revision === revision);

const beforeOf = (log: readonly Entry[], entry: Entry): Entry | undefined =>
  log.slice(0, log.indexOf(entry)).findLast(({ name }) => name === entry.name);

/** Changes the effect of a write with one of these verbs, and its outcome consistently. */
function changeWrite(
  { history, log }: SimulatedHistory,
  random: Random,
  verbs: readonly Write['verb'][],
  lie: (state: State, before: State, action: Write) => State | undefined,
  over: 'something' | 'over nothing' = 'something',
): boolean {
  const lies = log.flatMap((entry) => {
    const owner = writerAt(history, entry.revision);
    const before = beforeOf(log, entry)?.state;
    if (!owner || !entry.state || !verbs.some((verb) => verb === owner.action.verb)) return [];
    if ((before === undefined) !== (over === 'over nothing')) return [];
    const state = lie(entry.state, before ?? entry.state, owner.action as Write); // its verb is that of a write
    return state ? [{ entry, owner, state }] : [];
  });
  const simulation = pick(lies, random, () => true);
  if (!simulation) return false;
  const { entry, owner, state } = simulation;
  swap(history, owner, { ...owner, outcome: { result: 'written', revision: entry.revision, state } });
  return swap(log, entry, { ...entry, state });
}

/** Changes the requested action of a write that took effect. */
function changeAction<V extends Write['verb']>(
  { history, log }: SimulatedHistory,
  random: Random,
  verb: V,
  lie: (action: Extract<Write, { verb: V }>) => Write,
): boolean {
  const changed = pick(log, random, (entry) => {
    const owner = writerAt(history, entry.revision);
    return owner?.action.verb === verb && beforeOf(log, entry)?.state !== undefined;
  });
  const owner = changed && writerAt(history, changed.revision);
  if (!owner) return false;
  const action = owner.action as Extract<Write, { verb: V }>; // narrowed by its verb
  return swap(history, owner, { ...owner, action: lie(action) });
}

const wasAcknowledged = (history: readonly Operation[], { revision }: Entry): boolean =>
  history.some(({ outcome }) => outcome.result === 'written' && outcome.revision === revision);

const lastOf = (log: readonly Entry[], entry: Entry): boolean =>
  log.findLast(({ name }) => name === entry.name) === entry;

const hasSuccessor = (log: readonly Entry[], revision: number, action: Action): boolean =>
  'name' in action && log.some((entry) => entry.name === action.name && entry.revision > revision);

function pick<T>(all: readonly T[], random: Random, fact: (one: T, at: number) => boolean): T | undefined {
  const fitting = all.filter(fact);
  return fitting[random.below(fitting.length)];
}

function swap<T>(all: T[], old: T, next: T): boolean {
  all[all.indexOf(old)] = next;
  return true;
}

function changeOutcome(
  { history }: SimulatedHistory,
  random: Random,
  result: Outcome['result'],
  lie: (outcome: Outcome) => Outcome,
): boolean {
  const one = pick(history, random, ({ outcome }) => outcome.result === result);
  return one !== undefined && swap(history, one, { ...one, outcome: lie(one.outcome) });
}

function changeList(
  { history }: SimulatedHistory,
  random: Random,
  lie: (items: (readonly [string, number])[]) => (readonly [string, number])[],
): boolean {
  const one = pick(history, random, ({ outcome }) => outcome.result === 'listed' && outcome.items.size > 0);
  if (one?.outcome.result !== 'listed') return false;
  return swap(history, one, { ...one, outcome: { ...one.outcome, items: new Map(lie([...one.outcome.items])) } });
}

test('the second of two deletions at one revision is left out if both ran at the same time', () => {
  const first = operation({ verb: 'delete', name: 'a' }, { result: 'written', revision: 3, state: written('x') }, 1);
  const later = { ...first, id: 'later', invokedMs: first.returnedMs, returnedMs: first.returnedMs + 1 };
  const twin = { ...first, id: 'twin' };
  expect(withoutTwins([first, twin, later])).toEqual([first, later]);
  const byUid = { ...first, outcome: { result: 'deleted', uid: 'x' } } as const;
  expect(withoutTwins([byUid, { ...byUid, id: 'twin' }])).toEqual([byUid]);
  expect(withoutTwins([first, { ...twin, action: { verb: 'delete', name: 'b' } }])).toHaveLength(2);
});
