import { type Attack, type AttackContext, type HttpRequest, openAgent, pause, repeat } from './attack.ts';

const connections = 2;
const requestsMax = 2_000;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'attack.example.com';

const members = (count: number, make: (at: number) => unknown): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, make(at)]));
const list = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

/** As JSON. Each plural has a kind of its own. */
const definition = (
  plural: string,
  schema: object,
  more: { readonly names?: object; readonly version?: object } = {},
) =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind: kindOf(plural), ...more.names },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more.version }],
    },
  });
const kindOf = (plural: string): string => `${plural.slice(0, 1).toUpperCase()}${plural.slice(1)}Kind`;

const text = { type: 'string' };
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
/** About as large as the largest official ones. */
const largest = {
  type: 'object',
  properties: members(30, () => ({ type: 'object', properties: members(900, () => text) })),
};
/** As many values as the defaults of an object may have. */
const defaults = {
  type: 'object',
  properties: members(20, () => ({ ...open, default: { values: list(1_200, () => 1), text: 'x'.repeat(10_000) } })),
};

/** Definitions come and go, one after the other. Each is compiled, served and published in between. */
const comingAndGoing = (name: string, reason: string, schema: object): Attack => ({
  name,
  reason,
  prepare: async (context) => {
    const plurals = list(8, (at) => `${name.replaceAll(/[^a-z]/g, '')}${String.fromCodePoint(97 + at)}`);
    const bodies = plurals.map((plural) => definition(plural, schema));
    return () =>
      repeat(context, connections, requestsMax, (number) => {
        const at = Math.floor(number / 2) % plurals.length;
        if (number % 2 === 0) return { method: 'POST', path: definitions, body: bodies[at] as string };
        return { method: 'DELETE', path: `${definitions}/${plurals[at]}.${group}` };
      });
  },
});

/** Writes of objects of one kind. */
const objects = (
  name: string,
  reason: string,
  schema: object,
  next: (number: number, path: string, names: object) => HttpRequest,
): Attack => ({
  name,
  reason,
  prepare: async (context) => {
    const plural = name.replaceAll(/[^a-z]/g, '');
    const path = `/apis/${group}/v1/${plural}`;
    await define(context, path, definition(plural, schema));
    const names = { apiVersion: `${group}/v1`, kind: kindOf(plural) };
    return () => repeat(context, connections, requestsMax, (number) => next(number, path, names));
  },
});

/** Until the kind is served. */
async function define(context: AttackContext, path: string, body: string): Promise<void> {
  const ask = openAgent(context, 1);
  context.count(`prepared ${(await ask({ method: 'POST', path: definitions, body })).status}`);
  while (!context.signal.aborted && (await ask({ path })).status !== 200) await pause(context, pollMs);
}
const pollMs = 50;

const refused: readonly (readonly [schema: object, more?: Parameters<typeof definition>[2]])[] = [
  [{ type: 'object', properties: { a: { ...open, default: members(60_000, () => 1) } } }],
  [{ type: 'object', properties: members(20_000, () => text) }],
  [{ type: 'object', properties: { a: { type: 'object', required: list(50_000, (at) => `r${at}`) } } }],
  [{ type: 'object' }, { names: { shortNames: list(50_000, (at) => `s${at}`) } }],
  [{ type: 'object' }, { names: { categories: list(50_000, (at) => `c${at}`) } }],
  [
    { type: 'object', properties: { a: text } },
    { version: { selectableFields: list(20_000, () => ({ jsonPath: '.a' })) } },
  ],
  [
    { type: 'object' },
    { version: { additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: '.a'.repeat(500_000) }] } },
  ],
];

/** Objects that are written again and again. */
const names = ['a', 'b', 'c', 'd'];

export const definitionAttacks: readonly Attack[] = [
  comingAndGoing('definitions-largest', 'definitions of 60,000 values: compiled, published and deleted', largest),
  comingAndGoing('definitions-defaults', 'definitions with 24,000 values of defaults', defaults),
  {
    name: 'definitions-refused',
    reason: 'definitions beyond the limits of names, paths, properties and defaults',
    prepare: async (context) => {
      const bodies = refused.map(([schema, more], at) =>
        definition(`refused${String.fromCodePoint(97 + at)}`, schema, more),
      );
      return () =>
        repeat(context, connections, requestsMax, (number) => ({
          method: 'POST',
          path: definitions,
          body: bodies[number % bodies.length] as string,
        }));
    },
  },
  objects('custom-defaults', 'small objects that get 24,000 values of defaults', defaults, (number, path, kind) => {
    const name = names[Math.floor(number / 2) % names.length];
    if (number % 2 !== 0) return { method: 'DELETE', path: `${path}/${name}` };
    return { method: 'POST', path, body: JSON.stringify({ ...kind, metadata: { name } }) };
  }),
  objects(
    'custom-members',
    'objects with twice 10,000 members that nobody owns one by one',
    { ...open, properties: { spec: { ...open, 'x-kubernetes-map-type': 'atomic' } } },
    (number, path, kind) => ({
      method: 'PATCH',
      path: `${path}/${names[number % names.length]}?fieldManager=attacker&force=true`,
      contentType: 'application/apply-patch+yaml',
      body: JSON.stringify({
        ...kind,
        metadata: { name: names[number % names.length] },
        spec: { one: members(10_000, () => number), other: members(10_000, () => number) },
      }),
    }),
  ),
];
