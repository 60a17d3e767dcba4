import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import {
  type Action,
  type Attempt,
  appliedPlace,
  attemptPlace,
  counterPlace,
  type Entry,
  type Outcome,
  type Place,
  type State,
  updates,
  type Write,
} from './history.ts';
import { judge } from './check-history.ts';
import { type Told, unanswered, world } from './simulated-history.ts';

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
      state: written('stranger'),
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
    const writer = history.find(({ outcome }) => outcome.told === 'written' && outcome.revision === written?.revision);
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
    return (
      read !== undefined &&
      swap(history, read, { ...read, invokedMs: lateMs(history), returnedMs: lateMs(history) + 1 })
    );
  },
  'a state was seen that never was': (told, random) =>
    retell(told, random, 'found', (outcome) => ({ ...outcome, revision: 999_999 }) as Outcome),
  'a state was seen with the content of another': (told, random) =>
    retell(told, random, 'found', (outcome) => ({ ...outcome, state: written('other') }) as Outcome),
  'a write was answered with the content of another': (told, random) =>
    retell(told, random, 'written', (outcome) => ({ ...outcome, state: written('other') }) as Outcome),
  'an object was not found that was there all the time': ({ history, log }) => {
    const name = log.findLast(({ state }) => state !== undefined)?.name;
    const last = log.findLast((entry) => entry.name === name);
    if (!last?.state || name === undefined || !wasTold(history, last)) return false;
    return history.push(attempt({ verb: 'get', name }, { told: 'absent' }, lateMs(history))) > 0;
  },
  'an object was in the way that was not there': ({ history }) =>
    history.push(attempt({ verb: 'create', name: 'never', values: {} }, { told: 'exists' }, 1)) > 0,
  'a conflict was told with the revision that was there': ({ history, log }) => {
    const last = log.findLast((entry) => entry.state !== undefined && lastOf(log, entry) && wasTold(history, entry));
    if (!last) return false;
    return (
      history.push(
        attempt(
          { verb: 'replace', name: last.name, values: {}, expected: last.revision },
          { told: 'conflict' },
          lateMs(history),
        ),
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
  'a merge forgot what another had written': (told, random) =>
    rewrite(told, random, ['merge'], (state, before) => {
      const place = Object.keys(before.values).find((place) => state.values[place] === before.values[place]);
      return place === undefined ? undefined : without(state, place);
    }),
  'a merge wrote nothing of its own': (told, random) =>
    rewrite(told, random, ['merge'], (state) => {
      const place = Object.keys(state.values).find((place) => place.startsWith('annotations/member-'));
      return place === undefined ? undefined : without(state, place);
    }),
  'a counter was counted twice by one': (told, random) =>
    rewrite(told, random, ['count'], (state) =>
      withValue(state, counterPlace, `${Number(state.values[counterPlace]) + 1}`),
    ),
  'a counter was counted by nobody': (told, random) =>
    rewrite(told, random, ['merge', 'strategic', 'apply'], (state) =>
      withValue(state, counterPlace, `${Number(state.values[counterPlace] ?? 0) + 1}`),
    ),
  'a counter was tested and stayed as it was': (told, random) =>
    rewrite(told, random, ['count'], (state, before) => {
      const counted = before.values[counterPlace];
      return counted === undefined ? without(state, counterPlace) : withValue(state, counterPlace, counted);
    }),
  'a test failed that would have held, and something was written': (told, random) =>
    ask(told, random, 'count', (action) => ({ ...action, counted: '999' })),
  'a test failed although nobody had counted': ({ history, log }) => {
    const last = log.findLast((entry) => lastOf(log, entry) && wasTold(history, entry));
    const counted = last?.state?.values[counterPlace];
    if (!last?.state) return false;
    const action: Write = { verb: 'count', name: last.name, values: {}, counted, expected: undefined };
    return history.push(attempt(action, { told: 'failed' }, lateMs(history))) > 0;
  },
  'a strategic merge lost a secret': (told, random) =>
    rewrite(told, random, ['strategic'], (state) => {
      const place = Object.keys(state.values).find((place) => place.startsWith('secrets/'));
      return place === undefined ? undefined : without(state, place);
    }),
  'a strategic merge left a secret that it was to remove': ({ history, log }, random) => {
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
  'an apply left what its manager no longer wants': (told, random) =>
    rewrite(told, random, ['apply'], (state, before, action) => {
      const place = Object.keys(before.values).find((place) => state.values[place] === undefined);
      return place === undefined || action.verb !== 'apply' ? undefined : withValue(state, place, before.values[place]);
    }),
  'an apply lost a field of others': (told, random) =>
    rewrite(told, random, ['apply'], (state) => {
      const place = state.owners[updates]?.[0];
      return place === undefined ? undefined : without(state, place);
    }),
  'an apply did not write what its manager wants': (told, random) =>
    rewrite(told, random, ['apply'], (state, _, action) => {
      const place = 'values' in action && Object.keys(action.values).find((place) => place.startsWith('secrets/'));
      return place ? without(state, place) : undefined;
    }),
  'force left a field with its former owner, too': (told, random) =>
    rewrite(told, random, ['apply'], (state, before, action) => {
      const places = 'values' in action ? Object.keys(action.values) : [];
      const taken = places.find((place) => owns(before, updates, place) && !owns(state, updates, place));
      return taken === undefined ? undefined : owning(state, updates, [...(state.owners[updates] ?? []), taken]);
    }),
  'an owner was forgotten who wanted the same': (told, random) =>
    rewrite(told, random, ['apply'], (state, before, action) => {
      if (action.verb !== 'apply') return undefined;
      const shared = Object.keys(action.values).find(
        (place) => owns(before, updates, place) && owns(state, updates, place),
      );
      const rest = state.owners[updates]?.filter((place) => place !== shared);
      return shared === undefined ? undefined : owning(state, updates, rest ?? []);
    }),
  'an update left a field to the manager whose value it changed': (told, random) =>
    rewrite(told, random, ['create', 'replace', 'merge', 'strategic', 'count'], (state) =>
      owning(state, 'one', [...(state.owners['one'] ?? []), attemptPlace]),
    ),
  'an apply took fields without force': (told, random) => {
    const { history, log } = told;
    const taking = (action: Write, before: State | undefined): boolean =>
      action.verb === 'apply' &&
      before !== undefined &&
      Object.entries(action.values).some(
        ([place, value]) => before.values[place] !== value && owns(before, updates, place),
      );
    const entry = pick(log, random, (entry) => {
      const action = writerAt(history, entry.revision)?.action;
      return action?.verb === 'apply' && taking(action, beforeOf(log, entry)?.state);
    });
    const owner = entry && writerAt(history, entry.revision);
    return (
      owner?.action.verb === 'apply' && swap(history, owner, { ...owner, action: { ...owner.action, force: false } })
    );
  },
  'an apply was refused for a field that nobody owns': ({ history, log }) => {
    const last = log.findLast((entry) => entry.state !== undefined && lastOf(log, entry) && wasTold(history, entry));
    if (!last) return false;
    const values = { [appliedPlace('nobody')]: 'extra' };
    const action: Write = {
      verb: 'apply',
      name: last.name,
      manager: 'nobody',
      force: false,
      values,
      expected: undefined,
    };
    return history.push(attempt(action, { told: 'owned', places: Object.keys(values) }, lateMs(history))) > 0;
  },
  'an apply was refused for other fields than those of others': (told, random) =>
    retell(told, random, 'owned', () => ({ told: 'owned', places: ['labels/other'] })),
  'an apply was refused and done': (told, random) => {
    const { history } = told;
    const done = pick(history, random, ({ action, outcome }) => action.verb === 'apply' && outcome.told === 'written');
    return (
      done !== undefined && swap(history, done, { ...done, outcome: { told: 'owned', places: ['labels/colour'] } })
    );
  },
  ...Object.fromEntries(
    (['merge', 'strategic', 'count', 'apply'] as const).flatMap((verb): [string, Lie][] => [
      [
        `a patch went over another revision than it expected (${verb})`,
        (told, random) => ask(told, random, verb, (action) => ({ ...action, expected: 1 })),
      ],
      [
        `a patch that expected nothing was told of a conflict (${verb})`,
        ({ history, log }, random) => {
          const done = pick(
            history,
            random,
            ({ action, outcome }) =>
              action.verb === verb && action.expected === undefined && outcome.told === 'written',
          );
          if (done?.outcome.told !== 'written') return false;
          const { revision } = done.outcome;
          log.splice(
            log.findIndex((entry) => entry.revision === revision),
            1,
          );
          return swap(history, done, { ...done, outcome: { told: 'conflict' } });
        },
      ],
    ]),
  ),
  'an object was created with what was left of the one before': (told, random) =>
    rewrite(told, random, ['create'], (state) => withValue(state, counterPlace, '1'), 'over nothing'),
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
    return (
      listing !== undefined &&
      swap(history, listing, { ...listing, invokedMs: lateMs(history), returnedMs: lateMs(history) + 1 })
    );
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
  const silent = (id: string): Attempt => ({
    ...attempt({ verb: 'create', name: 'a', values: { [attemptPlace]: id } }, unanswered, 1),
    id,
  });
  const late = { ...attempt({ verb: 'get', name: 'a' }, { told: 'absent' }, 100), id: 'reader' };
  const log = [{ revision: 2, name: 'a', state: written('a') }];
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
  const log = [
    { revision: 2, name: 'a/x', state: written('x') },
    { revision: 3, name: 'b/y', state: written('y') },
  ];
  const writers = log.map(({ name, revision, state }) => ({
    ...attempt({ verb: 'create', name, values: state.values }, { told: 'written', revision, state }, 1),
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
    ...attempt(
      { verb: 'create', name: 'a', values: { [attemptPlace]: id } },
      { told: 'written', revision, state: written(id) },
      revision * 10,
    ),
    id,
  });
  const silent = attempt({ verb: 'delete', name: 'a' }, unanswered, 1);
  const log = [
    { revision: 2, name: 'a', state: written('x') },
    { revision: 3, name: 'a', state: undefined },
    { revision: 4, name: 'a', state: written('y') },
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

/** As its creation by an attempt of this id leaves an object. */
const written = (id: string): State => ({
  uid: id,
  values: { [attemptPlace]: id },
  owners: { [updates]: [attemptPlace] },
});

const without = (state: State, gone: Place): State => {
  const { [gone]: _, ...values } = state.values;
  const kept = Object.entries(state.owners).map(([owner, places]) => [owner, places.filter((place) => place !== gone)]);
  return { ...state, values, owners: Object.fromEntries(kept) };
};

const withValue = (state: State, place: Place, value = ''): State => ({
  ...state,
  values: { ...state.values, [place]: value },
});

const owns = ({ owners }: State, owner: string, place: Place): boolean => owners[owner]?.includes(place) ?? false;

const owning = (state: State, owner: string, places: readonly Place[]): State => ({
  ...state,
  owners: { ...state.owners, [owner]: places },
});

const lateMs = (history: readonly Attempt[]): number => Math.max(...history.map(({ returnedMs }) => returnedMs)) + 1;

const writerAt = (history: readonly Attempt[], revision: number): Attempt | undefined =>
  history.find(({ outcome }) => outcome.told === 'written' && outcome.revision === revision);

const beforeOf = (log: readonly Entry[], entry: Entry): Entry | undefined =>
  log.slice(0, log.indexOf(entry)).findLast(({ name }) => name === entry.name);

/** Lets a write of these verbs leave something else, where the lie is one; its answer tells the same lie. */
function rewrite(
  { history, log }: Told,
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
    const state = lie(entry.state, before ?? entry.state, owner.action as Write); // its verb is one of a write
    return state ? [{ entry, owner, state }] : [];
  });
  const told = pick(lies, random, () => true);
  if (!told) return false;
  const { entry, owner, state } = told;
  swap(history, owner, { ...owner, outcome: { told: 'written', revision: entry.revision, state } });
  return swap(log, entry, { ...entry, state });
}

/** Lets an attempt that changed something have asked for something else. */
function ask<V extends Write['verb']>(
  { history, log }: Told,
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
  const action = owner.action as Extract<Write, { verb: V }>; // its verb says so
  return swap(history, owner, { ...owner, action: lie(action) });
}

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
