/**
 * Conversations that are not recorded: a recorded one with one to three random changes, without the expected responses.
 * The same seed changes the same cases in the same way.
 */

/** Areas whose cases share objects with fixed names, decide about all requests, or are about this server. */
const unsuitable = /^(?:crd-documents|health|mutating-policy|specification|validating-policy)$/;

/** What is not compared, because only the unchanged conversation has it. */
const expectations = ['expect', 'check', 'matches', 'anyFailure', 'title'];

/** A step that waits for what does not come any more. */
const untilMaxMs = 4_000;
const requestMaxMs = 8_000;

const oddValues = [
  null,
  ...['', 'x', 'X', 'a/b', 'a..b', 'A_b', 'a b', 'ü', '1', '-a', '*', '10m', '5s', 'default'],
  ...['2024-01-01T00:00:00Z', 'x'.repeat(64), 'x'.repeat(254)],
  ...[0, -1, 1, 1.5, 2 ** 31, 2 ** 53, 1e21, true, false],
  ...[[], {}, ['x'], [null], [{}], { x: 'y' }],
];

const owner = { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u' };
const metadataParts = [
  ...[{}, null, { a: '' }, { 'a/b/c': 'x' }, { a: 'x y' }, { '': 'x' }, { 'A.B/c': 'x' }].map((labels) => ({ labels })),
  ...[{}, { 'a b': 'x' }, { a: 1 }].map((annotations) => ({ annotations })),
  ...[[], ['x'], ['a/b'], ['foregroundDeletion', 'orphan'], ['']].map((finalizers) => ({ finalizers })),
  ...[
    [],
    [owner],
    [{}],
    [owner, owner],
    [
      { ...owner, controller: true },
      { ...owner, uid: 'v', controller: true },
    ],
  ].map((ownerReferences) => ({ ownerReferences })),
  ...['', 'A', 'a..b', '.', 'a/b', 'a%b', null, 'x'.repeat(254)].map((name) => ({ name })),
  ...['', '0', '1', 'x'].map((resourceVersion) => ({ resourceVersion })),
  ...[[], [{}], [{ manager: 'm', operation: 'X' }]].map((managedFields) => ({ managedFields })),
  ...['other', '', null].map((namespace) => ({ namespace })),
  ...[{ generateName: 'gen-' }, { generateName: 'Gen_' }, { generation: 5 }, { uid: 'x' }, { zork: 1 }],
  ...[{ creationTimestamp: 'x' }, { deletionTimestamp: '2024-01-01T00:00:00Z' }, { deletionGracePeriodSeconds: 5 }],
];

const parameters = {
  dryRun: ['All', '', 'all'],
  fieldManager: ['m', '', 'm'.repeat(129), '%07'],
  fieldValidation: ['Strict', 'Ignore', 'x', ''],
  force: ['true', 'x'],
  limit: ['1', '0', '-1', 'x', ''],
  continue: ['x', ''],
  resourceVersion: ['0', '1', 'x', ''],
  resourceVersionMatch: ['Exact', 'NotOlderThan', 'x'],
  timeoutSeconds: ['0', '-1', 'x'],
  labelSelector: ['a', '!a', 'a%3Db', 'a%20in%20(x,y)', ',', 'a%3Ex', 'a/b/c', ''],
  fieldSelector: ['metadata.name%3Da', 'metadata.name!%3Da', 'metadata.namespace%3Dx', 'x%3Dy', 'metadata.name'],
  propagationPolicy: ['Foreground', 'Orphan', 'x'],
  gracePeriodSeconds: ['0', '5', 'x'],
  orphanDependents: ['true', 'x'],
  sendInitialEvents: ['true', 'false'],
  includeObject: ['None', 'x'],
  pretty: ['true'],
  uid: ['x'],
  zork: ['1'],
};
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const shown = (as, version = 'v1') => `application/json;as=${as};v=${version};g=meta.k8s.io`;
const accepted = [
  ...['application/json', '*/*', 'application/*', 'text/plain', '', 'application/json;pretty=1'],
  ...[shown('Table'), shown('Table', 'v1beta1'), shown('PartialObjectMetadata'), shown('X')],
];
const mediaTypes = [
  ...['json', 'yaml', 'merge-patch+json', 'strategic-merge-patch+json', 'json-patch+json', 'apply-patch+yaml'].map(
    (type) => `application/${type}`,
  ),
  ...['text/plain', '', 'application/json;charset=utf-8'],
];

/** @param {readonly { area: string, cases: readonly any[] }[]} files */
export function mutateCases(files, seed, count) {
  const random = createRandom(seed);
  const values = collectValues(files);
  const origins = files
    .filter(({ area }) => !unsuitable.test(area))
    .flatMap(({ area, cases }) => cases.map((one) => ({ area, one })));
  const areas = new Map();
  for (let made = 0; made < count; ) {
    const { area, one } = random.pick(origins);
    const mutated = mutateCase(one, random, values);
    if (!mutated) continue;
    const name = `${made++} ${mutated.changes.join(', ')}: ${one.name}`;
    areas.set(area, [...(areas.get(area) ?? []), { ...mutated.changed, name }]);
  }
  return [...areas].map(([area, cases]) => ({ area, cases }));
}

/** Numbers by splitmix32. */
function createRandom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const below = (bound) => Math.floor(next() * bound);
  return { chance: (part) => next() < part, below, pick: (list) => list[below(list.length)] };
}

/** All values that members of a name have in any body: what is valid in one place is nearly valid in another. */
function collectValues(files) {
  const values = new Map();
  const visit = (value, name) => {
    if (name !== undefined) {
      const known = values.get(name) ?? new Map();
      const text = JSON.stringify(value);
      if (text.length < 3_000) values.set(name, known.set(text, value));
    }
    if (Array.isArray(value)) for (const entry of value) visit(entry);
    else if (isObject(value)) for (const [key, member] of Object.entries(value)) visit(member, key);
  };
  for (const { cases } of files)
    for (const { steps } of cases) for (const { request } of steps) visit(request?.body ?? {});
  return new Map([...values].map(([name, known]) => [name, [...known.values()]]));
}

/** Undefined if a change cannot be made, or the case takes long. */
function mutateCase(one, random, values) {
  if (one.steps.some(({ repeat, open, sleepMs }) => repeat?.times > 60 || open || sleepMs > 500)) return undefined;
  const changed = structuredClone(one);
  const changes = [];
  for (let left = 1 + random.below(1 + random.below(3)); left > 0; left--) {
    const change = mutateStep(changed.steps, random, values);
    if (!change) return undefined;
    changes.push(change);
  }
  if (JSON.stringify(changed.steps) === JSON.stringify(one.steps)) return undefined;
  for (const step of changed.steps) {
    for (const name of expectations) delete step[name];
    if (step.until) step.until.withinMs = Math.min(step.until.withinMs ?? untilMaxMs, untilMaxMs);
    if (step.request) step.request.timeoutMs = Math.min(step.request.timeoutMs ?? requestMaxMs, requestMaxMs);
  }
  return { changed, changes };
}

/** Changes one step, or leaves it out. Returns the name of the change. */
function mutateStep(steps, random, values) {
  const asked = steps.filter(({ request, until, always }) => request && !until && !always);
  const written = asked.filter(({ request }) => isObject(request.body) || Array.isArray(request.body));
  if (random.chance(0.05)) return leaveOut(steps, random.pick(asked));
  if (random.chance(0.75)) return mutateBody(random.pick(written)?.request, random, values);
  return mutateRequest(random.pick(asked)?.request, random);
}

function leaveOut(steps, step) {
  if (!step || step.save) return undefined;
  steps.splice(steps.indexOf(step), 1);
  return 'a step less';
}

function mutateRequest(request, random) {
  if (!request) return undefined;
  const name = random.pick(['parameter', 'method', 'accept', 'content-type']);
  if (name === 'parameter') request.path = withParameter(request.path, random);
  else if (name === 'method') request.method = random.pick(methods.filter((one) => one !== request.method));
  else request.headers = { ...request.headers, [name]: random.pick(name === 'accept' ? accepted : mediaTypes) };
  return name;
}

function withParameter(path, random) {
  const name = random.pick(Object.keys(parameters));
  const [target, query = ''] = path.split('?');
  const others = query.split('&').filter((part) => part !== '' && part.split('=')[0] !== name);
  return `${target}?${[...others, `${name}=${random.pick(parameters[name])}`].join('&')}`;
}

function mutateBody(request, random, values) {
  if (!request) return undefined;
  const places = placesIn(request.body);
  const name = random.pick(Object.keys(bodyChanges));
  const before = JSON.stringify(request.body);
  bodyChanges[name](request.body, places, random, values);
  return JSON.stringify(request.body) === before ? undefined : name;
}

/** Each member and entry, with what holds it. */
function placesIn(value) {
  if (typeof value !== 'object' || value === null) return [];
  return Object.keys(value).flatMap((key) => [{ holder: value, key }, ...placesIn(value[key])]);
}

const bodyChanges = {
  'a member less': (_, places, random) => {
    const { holder, key } = random.pick(places) ?? {};
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else if (holder) delete holder[key];
  },
  'an odd value': (_, places, random) => {
    const place = random.pick(places);
    if (place) place.holder[place.key] = structuredClone(random.pick(oddValues));
  },
  "another's value": (_, places, random, values) => {
    const place = random.pick(places.filter(({ key }) => values.has(key)));
    if (place) place.holder[place.key] = structuredClone(random.pick(values.get(place.key)));
  },
  'an entry twice': (_, places, random) => {
    const place = random.pick(places.filter(({ holder }) => Array.isArray(holder)));
    place?.holder.push(structuredClone(place.holder[place.key]));
  },
  'another name': (_, places, random) => {
    const { holder, key } = random.pick(places.filter(({ holder: one }) => !Array.isArray(one))) ?? {};
    if (!holder) return;
    const { [key]: value } = holder;
    delete holder[key];
    holder[random.chance(0.5) ? `${key}x` : key.charAt(0).toUpperCase() + key.slice(1)] = value;
  },
  'a member more': (body, places, random, values) => {
    const place = random.pick(places.filter(({ holder, key }) => isObject(holder[key])));
    const name = random.pick([...values.keys()]);
    (place ? place.holder[place.key] : body)[name] = structuredClone(random.pick(values.get(name)));
  },
  metadata: (body, _, random) => {
    if (!Array.isArray(body)) body.metadata = { ...body.metadata, ...structuredClone(random.pick(metadataParts)) };
  },
};

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
