import { systemClock } from '@cluster-apiserver/base';
import { createAdmission, type Authorizer } from '@cluster-apiserver/gates';
import { kinds, reviews } from '@cluster-apiserver/kinds';
import { type AccessQuestion, bytesOf, type UserInfo } from '@cluster-apiserver/model';
import {
  type ApiResponse,
  discoveryDocuments,
  documentRoutes,
  healthDocuments,
  issuerDocuments,
  openApiDocuments,
  textResponse,
} from '@cluster-apiserver/pipeline';
import { createHealth } from '@cluster-apiserver/telemetry';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type OpenPipeline, openPipeline } from '../../../pipeline/test/open-pipeline.ts';
import { samples } from './samples.ts';

/**
 * Everything that is served, as the endpoint table has it, needs exactly the right that the table says. A right is
 * written as `verb group/resource/subresource in NAMESPACE of NAME`, or `verb path`.
 */

const ann: UserInfo = { name: 'ann', groups: ['system:authenticated'] };

let pipeline: OpenPipeline;
/** Who asks, and what he may; what was asked of the authorizer, in its order. */
let user: UserInfo | undefined = ann;
let isGranted: (right: string) => boolean = () => true;
let asked: string[] = [];

const services = {
  clock: systemClock,
  authenticateToken: async () => ({ error: 'nobody knows this token' }),
  authorize: () => ({ verdict: 'noOpinion' }) as const,
  rulesOf: () => ({ resource: [], nonResource: [], incomplete: false }),
};
const tokens = {
  audiences: ['api'],
  lifetimeSecondsMax: undefined,
  issue: async () => ({ token: 'signed', issuedAtMs: 0 }),
};
const allKinds = kinds({ eventLifetimeSeconds: 3_600, serviceAccountTokens: tokens });
const allReviews = reviews(services);
const outward = [...allKinds, ...allReviews];

const documents = {
  ...discoveryDocuments(outward, {} as Parameters<typeof discoveryDocuments>[1]),
  ...openApiDocuments(outward, 'v1', systemClock),
  ...healthDocuments(createHealth({ clock: systemClock, failed: () => {} })),
  ...issuerDocuments({ metadata: () => ({}), keySet: () => ({}) }),
  '/metrics': ({ auditId }: { readonly auditId: string }) => textResponse(auditId, 200, ''),
};

const authorizer: Authorizer = {
  authorize: (question) => {
    const right = rightOf(question);
    asked.push(right);
    return isGranted(right) ? { verdict: 'allow' } : { verdict: 'noOpinion', reason: 'no rule' };
  },
};

function rightOf({ verb, path, resource }: AccessQuestion): string {
  if (!resource) return `${verb} ${path}`;
  const { group, resource: plural, subresource, namespace, name } = resource;
  return rightText({ verb, what: [`${group}/${plural}`, subresource].filter(Boolean).join('/'), namespace, name });
}

interface Right {
  readonly verb: string;
  readonly what: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const rightText = ({ verb, what, namespace, name }: Right): string =>
  `${verb} ${what}${namespace ? ` in ${namespace}` : ''}${name ? ` of ${name}` : ''}`;

beforeAll(async () => {
  pipeline = await openPipeline({
    kinds: allKinds,
    chain: { authorizer, authenticator: { authenticate: () => user } },
    routes: {
      reviews: allReviews,
      checks: { admission: createAdmission([]), authorizer },
      mayDeleteUnreadable: authorizer,
      documents: documentRoutes(documents),
    },
  });
});
afterAll(() => pipeline.close());

/** A request that a route is meant for. */
interface Request {
  readonly method: string;
  readonly target: string;
  readonly body?: object | undefined;
  readonly type?: string;
}

/** One way to use one route: a method and path, and the right that it needs. */
interface Use {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly verb: string;
  readonly group: string;
  readonly plural: string;
  readonly subresource: string | undefined;
}

const uses = (): Use[] =>
  pipeline.endpoints.flatMap(({ verbs, ...endpoint }) =>
    verbs.map((verb) => ({
      ...endpoint,
      verb,
      query: verb === 'watch' && !endpoint.path.includes('/watch/') ? '?watch=1' : '',
    })),
  );

const titleOf = ({ method, path, query }: Use): string => `${method} ${path}${query}`;

/** Where a use of a route is tried: each in a place of its own, because some write. */
const placeOf = (index: number): { namespace: string; name: string } => ({ namespace: `n${index}`, name: `x${index}` });

const filledIn = (template: string, { namespace, name }: ReturnType<typeof placeOf>): string =>
  template.replace('{namespace}', namespace).replace('{name}', name);

/** What the request is about: `group/resource`, with the subresource behind it. */
const resourceOf = ({ group, plural, subresource }: Pick<Use, 'group' | 'plural' | 'subresource'>): string =>
  [`${group}/${plural}`, subresource].filter(Boolean).join('/');

/** The namespace and name that a right to it is for. A namespace is in itself: who may act in it may act on it. */
function scopeOf({ group, plural, path }: Use, place: ReturnType<typeof placeOf>): Pick<Right, 'namespace' | 'name'> {
  const name = path.includes('{name}') ? place.name : undefined;
  const isNamespace = group === '' && plural === 'namespaces';
  return { name, namespace: path.includes('{namespace}') ? place.namespace : isNamespace ? name : undefined };
}

const neededRight = (use: Use, place: ReturnType<typeof placeOf>): string =>
  rightText({ verb: use.verb, what: resourceOf(use), ...scopeOf(use, place) });

const asking = (who: UserInfo | undefined, granted: (right: string) => boolean): void => {
  user = who;
  isGranted = granted;
  asked = [];
};

async function send({ method, target, body, type = 'application/json' }: Request): Promise<ApiResponse> {
  const headers = { 'content-type': type };
  return pipeline.ask(method, target, body === undefined ? { headers } : { headers, body: JSON.stringify(body) });
}

/** The object that a route is about, as one finds it who may do everything. */
async function makeObject(
  { group, plural, path }: Use,
  place: ReturnType<typeof placeOf>,
): Promise<object | undefined> {
  if (!path.includes('{name}')) return undefined;
  asking(ann, () => true);
  const object = filledIn(path.replace('/watch/', '/').replace(/(\{name\}).*/, '$1'), place);
  const collection = object.slice(0, object.lastIndexOf('/'));
  const made = await send({ method: 'POST', target: collection, body: samples[`${group}/${plural}`]?.(place) });
  expect([201, 409]).toContain(made.status);
  return JSON.parse(textOf(await send({ method: 'GET', target: object }))) as object;
}

function textOf({ body }: ApiResponse): string {
  if (typeof body === 'string') return Buffer.from(bytesOf(body)).toString();
  if (Buffer.isBuffer(body)) return body.toString();
  if (body && 'pieces' in body)
    return Buffer.concat([...body.pieces(65_536, (bytes) => Buffer.alloc(bytes))]).toString();
  return '';
}

function requestOf(use: Use, place: ReturnType<typeof placeOf>, object: object | undefined): Request {
  const { method } = use;
  const target = filledIn(use.path, place) + use.query;
  if (method === 'PUT') return { method, target, body: object };
  if (method === 'PATCH') return { method, target, body: {}, type: 'application/merge-patch+json' };
  if (method !== 'POST') return { method, target };
  return { method, target, body: samples[resourceOf(use)]?.(place) };
}

/** What every use of every route gives, by its title. */
async function ofEveryUse<T>(
  find: (use: Use, place: ReturnType<typeof placeOf>) => Promise<T>,
): Promise<Record<string, T>> {
  const found: Record<string, T> = {};
  for (const [index, use] of uses().entries()) found[titleOf(use)] = await find(use, placeOf(index));
  return found;
}

const sameForAll = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(uses().map((use) => [titleOf(use), value]));

describe('Every route of the endpoint table', () => {
  test('needs the right that it declares', () => {
    const table = uses().map((use) => `${titleOf(use)}: ${neededRight(use, { namespace: 'NAMESPACE', name: 'NAME' })}`);
    expect(table).toMatchSnapshot();
  });

  test('has something valid that can be sent to it', () => {
    const taking = uses().filter(({ method }) => method === 'POST');
    const missing = taking.map(resourceOf).filter((key) => !Object.hasOwn(samples, key));
    expect(missing).toEqual([]);
  });

  test('is served to who has exactly this right', async () => {
    const answers = await ofEveryUse(async (use, place) => {
      const object = await makeObject(use, place);
      const right = neededRight(use, place);
      asking(ann, (one) => one === right);
      const { status } = await send(requestOf(use, place, object));
      return { isServed: status >= 200 && status < 300, asked };
    });
    const expected = await ofEveryUse(async (use, place) => ({ isServed: true, asked: [neededRight(use, place)] }));
    expect(answers).toEqual(expected);
  });

  test('is refused to who has every right but this one', async () => {
    const answers = await ofEveryUse(async (use, place) => {
      const object = await makeObject(use, place);
      const right = neededRight(use, place);
      asking(ann, (one) => one !== right);
      return (await send(requestOf(use, place, object))).status;
    });
    expect(answers).toEqual(sameForAll(403));
  });

  test('is refused in words that tell the right, and not whether the object is there', async () => {
    const messages = async (exist: boolean): Promise<Record<string, unknown>> =>
      ofEveryUse(async (use, place) => {
        const named = exist ? place : { namespace: place.namespace, name: `${place.name}-none` };
        const object = exist ? await makeObject(use, place) : { metadata: { name: named.name } };
        asking(ann, () => false);
        const answer = JSON.parse(textOf(await send(requestOf(use, named, object)))) as Record<string, unknown>;
        return JSON.parse(JSON.stringify(answer).replaceAll('-none', '')) as unknown;
      });
    const refusals = await messages(true);
    expect(refusals).toEqual(await messages(false));
    const expected = await ofEveryUse(async (use, place) => {
      const { verb, group, plural, subresource } = use;
      const { namespace, name } = scopeOf(use, place);
      const subject = `${plural}${group && `.${group}`}${name ? ` "${name}"` : ''}`;
      const where = namespace ? `in the namespace "${namespace}"` : 'at the cluster scope';
      const what = subresource ? `${plural}/${subresource}` : plural;
      return {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
        details: { ...(name && { name }), ...(group && { group }), kind: plural },
        message: `${subject} is forbidden: User "ann" cannot ${verb} resource "${what}" in API group "${group}" ${where}: no rule`,
      };
    });
    expect(refusals).toEqual(expected);
  });

  test('is refused to nobody before anybody is asked, and to anonymous requests by name', async () => {
    const answers = async (who: UserInfo | undefined): Promise<Record<string, unknown>> =>
      ofEveryUse(async (use, place) => {
        asking(who, () => false);
        const { status } = await send(requestOf(use, place, { metadata: { name: place.name } }));
        return { status, questions: asked.length };
      });
    expect(await answers(undefined)).toEqual(sameForAll({ status: 401, questions: 0 }));
    const anonymous = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    expect(await answers(anonymous)).toEqual(sameForAll({ status: 403, questions: 1 }));
  });

  test.each(['HEAD', 'OPTIONS', 'BREW'])(
    'asks for %s, too, before it says that it does not know the method',
    async (method) => {
      const ofGet = uses().filter((use) => use.method === 'GET');
      for (const [index, use] of ofGet.entries()) {
        const place = placeOf(index);
        const right = neededRight({ ...use, verb: method === 'HEAD' ? use.verb : '' }, place);
        const request = { method, target: filledIn(use.path, place) + use.query };
        asking(ann, (one) => one === right);
        expect([titleOf(use), (await send(request)).status, asked]).toEqual([titleOf(use), 405, [right]]);
        asking(ann, (one) => one !== right);
        expect([titleOf(use), (await send(request)).status]).toEqual([titleOf(use), 403]);
      }
    },
  );
});

/** The patterns of documents, with the name of a health check in the place of its parameter. */
const documentPaths = Object.keys(documents).map((pattern) => pattern.replace(/[:*]check$/, 'ping'));

describe('A path that is no resource', () => {
  const paths = [...documentPaths, '/', '/nope', '/metrics/x'];

  test.each(paths)('%s needs the right to its method on exactly this path', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'BREW']) {
      const right = `${method.toLowerCase()} ${path}`;
      asking(ann, (one) => one === right);
      const { status } = await send({ method, target: path });
      const isDocument = documentPaths.includes(path);
      const served = method === 'GET' || method === 'HEAD' ? 200 : 405;
      expect([method, status, asked]).toEqual([method, isDocument ? served : 404, [right]]);
      asking(ann, (one) => one !== right);
      const refused = await send({ method, target: path });
      expect([method, refused.status]).toEqual([method, 403]);
      expect(JSON.parse(textOf(refused))).toMatchObject({
        message: `forbidden: User "ann" cannot ${method.toLowerCase()} path "${path}": no rule`,
        details: {},
      });
      asking(undefined, () => true);
      expect((await send({ method, target: path })).status).toBe(401);
    }
  });
});

test.each([
  ['/apis/no.such/v1/things', 'list no.such/things'],
  ['/apis/no.such/v1/namespaces/n/things/x', 'get no.such/things in n of x'],
  ['/api/v1/gizmos', 'list /gizmos'],
  ['/api/v1/namespaces/n/events/e/a/b', 'get /events/a in n of e'],
  ['/api/v1/namespaces/n/events/e/nope', 'get /events/nope in n of e'],
])('what is not served at %s is told only to who might ask for it', async (target, right) => {
  asking(ann, (one) => one === right);
  expect([(await send({ method: 'GET', target })).status, asked]).toEqual([404, [right]]);
  asking(ann, (one) => one !== right);
  expect((await send({ method: 'GET', target })).status).toBe(403);
});

describe('What a request does besides its verb', () => {
  const accounts = '/api/v1/namespaces/besides/serviceaccounts';
  const rightTo = (verb: string, name?: string): string =>
    rightText({ verb, what: '/serviceaccounts', namespace: 'besides', name });
  const may = (...rights: string[]): void => asking(ann, (one) => rights.includes(one));
  const apply = (name: string): Request => ({
    method: 'PATCH',
    target: `${accounts}/${name}?fieldManager=m`,
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    type: 'application/apply-patch+yaml',
  });

  test('an apply that creates needs the right to create, and one that changes does not', async () => {
    may(rightTo('patch', 'a'));
    const refused = await send(apply('a'));
    expect([refused.status, asked]).toEqual([403, [rightTo('patch', 'a'), rightTo('create', 'a')]]);
    expect(JSON.parse(textOf(refused))).toMatchObject({
      message:
        'serviceaccounts "a" is forbidden: User "ann" cannot create resource "serviceaccounts" in API group "" in the namespace "besides": no rule',
    });
    may(rightTo('patch', 'a'), rightTo('create', 'a'));
    expect((await send(apply('a'))).status).toBe(201);
    may(rightTo('patch', 'a'));
    expect([(await send(apply('a'))).status, asked]).toEqual([200, [rightTo('patch', 'a')]]);
  });

  test('a PUT that creates needs the right to create', async () => {
    const replaceable = allKinds.filter(({ createOnReplace }) => createOnReplace);
    expect(replaceable.length).toBeGreaterThan(0);
    for (const [index, kind] of replaceable.entries()) {
      const update = uses().find(
        ({ method, group, plural, subresource }) =>
          method === 'PUT' && group === kind.group && plural === kind.plural && !subresource,
      );
      if (!update) throw new Error(`${kind.kind} has no PUT`);
      const place = { namespace: 'besides', name: `put-${index}` };
      const [right, create] = ['update', 'create'].map((verb) => neededRight({ ...update, verb }, place));
      const body = {
        ...samples[`${kind.group}/${kind.plural}`]?.(place),
        kind: kind.kind,
        apiVersion: kind.apiVersion,
      };
      const request = { method: 'PUT', target: filledIn(update.path, place), body };
      asking(ann, (one) => one === right);
      expect([(await send(request)).status, asked]).toEqual([403, [right, create]]);
      asking(ann, (one) => one === right || one === create);
      expect([kind.kind, (await send(request)).status]).toEqual([kind.kind, 201]);
    }
  });

  test.each([
    ['DELETE', '/u', 'delete', 'u'],
    ['DELETE', '', 'deletecollection', undefined],
  ])('an unsafe deletion by %s %s needs a right of its own', async (method, path, verb, name) => {
    const [right, unsafe] = [rightTo(verb, name), rightTo('unsafe-delete-ignore-read-errors', name)];
    asking(ann, () => true);
    await send({ method: 'POST', target: accounts, body: { metadata: { name: 'u' } } });
    const target = `${accounts}${path}?ignoreStoreReadErrorWithClusterBreakingPotential=true`;
    may(right);
    const refused = await send({ method, target });
    expect([refused.status, asked]).toEqual([403, [right, unsafe]]);
    expect(JSON.parse(textOf(refused))).toMatchObject({
      message: expect.stringContaining(
        'is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: no rule',
      ),
    });
    may(unsafe);
    expect((await send({ method, target })).status).toBe(403);
    may(right, unsafe);
    await send({ method, target });
    expect(asked).toEqual([right, unsafe]);
  });

  test.each([
    ['bob', 'impersonate /users of bob'],
    ['system:serviceaccount:team:robot', 'impersonate /serviceaccounts in team of robot'],
  ])('acting for %s needs the right to, and his right', async (name, right) => {
    const request = async (): Promise<number> =>
      (await pipeline.ask('GET', accounts, { headers: { 'impersonate-user': name } })).status;
    may(rightTo('list'));
    expect(await request()).toBe(403);
    expect(asked).not.toContain(rightTo('list'));
    may(right);
    expect(await request()).toBe(403);
    expect(asked.at(-1)).toBe(rightTo('list'));
    may(right, rightTo('list'));
    expect(await request()).toBe(200);
  });
});
