import { systemClock } from '@cluster-apiserver/base';
import { createAdmission, type Authorizer } from '@cluster-apiserver/gates';
import { kinds, reviews } from '@cluster-apiserver/kinds';
import type { AccessAttributes, UserInfo } from '@cluster-apiserver/model';
import {
  type ApiResponse,
  discoveryRoutes,
  createNonResourceRouter,
  healthRoutes,
  issuerRoutes,
  openApiRoutes,
  textResponse,
} from '@cluster-apiserver/pipeline';
import { createHealth } from '@cluster-apiserver/telemetry';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixedRoutes } from '../../../pipeline/test/ask-documents.ts';
import { type OpenPipeline, openPipeline, textOf } from '../../../pipeline/test/open-pipeline.ts';
import { lampKind } from '../custom-sample.ts';
import { sampleOf } from './samples.ts';

/**
 * Every served endpoint requires exactly the permission that the endpoint table declares. A permission is written as
 * `verb group/resource/subresource in NAMESPACE of NAME`, or `verb path`.
 */

const ann: UserInfo = { name: 'ann', groups: ['system:authenticated'] };

let pipeline: OpenPipeline;
/** The current user and their permissions, and the authorizer calls in order. */
let user: UserInfo | undefined = ann;
let isGranted: (permission: string) => boolean = () => true;
let authorized: string[] = [];

const services = {
  clock: systemClock,
  authenticateToken: async () => ({ error: 'unknown token' }),
  authorize: () => ({ verdict: 'noOpinion' }) as const,
  rulesOf: () => ({ resource: [], nonResource: [], incomplete: false }),
};
const tokens = {
  audiences: ['api'],
  lifetimeSecondsMax: undefined,
  issue: async () => ({ token: 'signed', issuedAtMs: 0, credentialId: 'JTI=1' }),
};
const allKinds = [...kinds({ eventLifetimeSeconds: 3_600, serviceAccountTokens: tokens }), lampKind];
const allReviews = reviews(services);
const served = [...allKinds.flatMap(({ versions }) => versions.filter(({ isServed }) => isServed)), ...allReviews];

const documents = {
  ...fixedRoutes(discoveryRoutes(() => served, {} as Parameters<typeof discoveryRoutes>[1], systemClock)),
  ...fixedRoutes(openApiRoutes(() => served, 'v1', systemClock)),
  ...healthRoutes(createHealth({ clock: systemClock, failed: () => {} })),
  ...issuerRoutes({ metadata: () => ({}), keySet: () => ({}) }),
  '/metrics': ({ auditId }: { readonly auditId: string }) => textResponse(auditId, 200, ''),
};

const authorizer: Authorizer = {
  authorize: (attributes) => {
    const permission = permissionOf(attributes);
    authorized.push(permission);
    return isGranted(permission) ? { verdict: 'allow' } : { verdict: 'noOpinion', reason: 'no rule' };
  },
};

function permissionOf({ verb, path, resource }: AccessAttributes): string {
  if (!resource) return `${verb} ${path}`;
  const { group, resource: plural, subresource, namespace, name } = resource;
  return permissionText({ verb, what: [`${group}/${plural}`, subresource].filter(Boolean).join('/'), namespace, name });
}

interface Permission {
  readonly verb: string;
  readonly what: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const permissionText = ({ verb, what, namespace, name }: Permission): string =>
  `${verb} ${what}${namespace ? ` in ${namespace}` : ''}${name ? ` of ${name}` : ''}`;

beforeAll(async () => {
  pipeline = await openPipeline({
    kinds: allKinds,
    chain: { authorizer, authenticator: { authenticate: () => user } },
    routes: {
      reviews: allReviews,
      checks: { admission: createAdmission([]), authorizer },
      unsafeDeletionAuthorizer: authorizer,
      nonResourceRouter: createNonResourceRouter(documents),
    },
  });
});
afterAll(() => pipeline.close());

/** A valid request of a route. */
interface Request {
  readonly method: string;
  readonly target: string;
  readonly body?: object | undefined;
  readonly type?: string;
}

/** One way to use a route: a method and path, and the permission that it requires. */
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

/** Namespace and name for a use of a route; separate ones, because some uses write. */
const placeOf = (index: number, { group }: Pick<Use, 'group'>): { namespace: string; name: string } => ({
  namespace: `n${index}`,
  // The name of a definition is that of the resource and its group.
  name: group === 'apiextensions.k8s.io' ? `x${index}.example.com` : `x${index}`,
});

const fillIn = (template: string, { namespace, name }: ReturnType<typeof placeOf>): string =>
  template.replace('{namespace}', namespace).replace('{name}', name);

/** The requested `group/resource`, with its subresource. */
const resourceOf = ({ group, plural, subresource }: Pick<Use, 'group' | 'plural' | 'subresource'>): string =>
  [`${group}/${plural}`, subresource].filter(Boolean).join('/');

/** The namespace and name that the permission covers. A namespace object counts as inside itself. */
function scopeOf(
  { group, plural, path }: Use,
  place: ReturnType<typeof placeOf>,
): Pick<Permission, 'namespace' | 'name'> {
  const name = path.includes('{name}') ? place.name : undefined;
  const isNamespace = group === '' && plural === 'namespaces';
  return { name, namespace: path.includes('{namespace}') ? place.namespace : isNamespace ? name : undefined };
}

const requiredPermission = (use: Use, place: ReturnType<typeof placeOf>): string =>
  permissionText({ verb: use.verb, what: resourceOf(use), ...scopeOf(use, place) });

const actAs = (who: UserInfo | undefined, granted: (permission: string) => boolean): void => {
  user = who;
  isGranted = granted;
  authorized = [];
};

async function send({ method, target, body, type = 'application/json' }: Request): Promise<ApiResponse> {
  const headers = { 'content-type': type };
  return pipeline.ask(method, target, body === undefined ? { headers } : { headers, body: JSON.stringify(body) });
}

/** Creates the object that a route targets, as an administrator. */
async function makeObject(
  { group, plural, path }: Use,
  place: ReturnType<typeof placeOf>,
): Promise<object | undefined> {
  if (!path.includes('{name}')) return undefined;
  actAs(ann, () => true);
  const object = fillIn(path.replace('/watch/', '/').replace(/(\{name\}).*/, '$1'), place);
  const collection = object.slice(0, object.lastIndexOf('/'));
  const made = await send({ method: 'POST', target: collection, body: sampleOf(`${group}/${plural}`, place) });
  expect([201, 409]).toContain(made.status);
  // The scale of an object has another form.
  const target = path.endsWith('/scale') ? `${object}/scale` : object;
  return JSON.parse(await textOf(await send({ method: 'GET', target }))) as object;
}

function requestOf(use: Use, place: ReturnType<typeof placeOf>, object: object | undefined): Request {
  const { method } = use;
  const target = fillIn(use.path, place) + use.query;
  if (method === 'PUT') return { method, target, body: object };
  if (method === 'PATCH') return { method, target, body: {}, type: 'application/merge-patch+json' };
  if (method !== 'POST') return { method, target };
  return { method, target, body: sampleOf(resourceOf(use), place) };
}

/** Calls `find` for every use of every route and returns the results by title. */
async function forEveryUse<T>(
  find: (use: Use, place: ReturnType<typeof placeOf>) => Promise<T>,
): Promise<Record<string, T>> {
  const found: Record<string, T> = {};
  for (const [index, use] of uses().entries()) found[titleOf(use)] = await find(use, placeOf(index, use));
  return found;
}

const sameForEveryUse = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(uses().map((use) => [titleOf(use), value]));

describe('Every route of the endpoint table', () => {
  test('requires the permission that it declares', () => {
    const table = uses().map(
      (use) => `${titleOf(use)}: ${requiredPermission(use, { namespace: 'NAMESPACE', name: 'NAME' })}`,
    );
    expect(table).toMatchSnapshot();
  });

  test('serves a user with exactly this permission', async () => {
    const answers = await forEveryUse(async (use, place) => {
      const object = await makeObject(use, place);
      const permission = requiredPermission(use, place);
      actAs(ann, (one) => one === permission);
      const { status } = await send(requestOf(use, place, object));
      return { isServed: status >= 200 && status < 300, authorized };
    });
    const expected = await forEveryUse(async (use, place) => ({
      isServed: true,
      authorized: [requiredPermission(use, place)],
    }));
    expect(answers).toEqual(expected);
  });

  test('denies a user with every permission but this one', async () => {
    const answers = await forEveryUse(async (use, place) => {
      const object = await makeObject(use, place);
      const permission = requiredPermission(use, place);
      actAs(ann, (one) => one !== permission);
      return (await send(requestOf(use, place, object))).status;
    });
    expect(answers).toEqual(sameForEveryUse(403));
  });

  test('names the missing permission in the denial, and not whether the object exists', async () => {
    const messages = async (exist: boolean): Promise<Record<string, unknown>> =>
      forEveryUse(async (use, place) => {
        const named = exist ? place : { namespace: place.namespace, name: `${place.name}-none` };
        const object = exist ? await makeObject(use, place) : { metadata: { name: named.name } };
        actAs(ann, () => false);
        const answer = JSON.parse(await textOf(await send(requestOf(use, named, object)))) as Record<string, unknown>;
        return JSON.parse(JSON.stringify(answer).replaceAll('-none', '')) as unknown;
      });
    const denials = await messages(true);
    expect(denials).toEqual(await messages(false));
    const expected = await forEveryUse(async (use, place) => {
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
    expect(denials).toEqual(expected);
  });

  test('rejects unauthenticated requests before authorization, and denies anonymous ones by name', async () => {
    const answers = async (who: UserInfo | undefined): Promise<Record<string, unknown>> =>
      forEveryUse(async (use, place) => {
        actAs(who, () => false);
        const { status } = await send(requestOf(use, place, { metadata: { name: place.name } }));
        return { status, questions: authorized.length };
      });
    expect(await answers(undefined)).toEqual(sameForEveryUse({ status: 401, questions: 0 }));
    const anonymous = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    expect(await answers(anonymous)).toEqual(sameForEveryUse({ status: 403, questions: 1 }));
  });

  test.each(['HEAD', 'OPTIONS', 'BREW'])('authorizes %s before it rejects an unsupported method', async (method) => {
    const ofGet = uses().filter((use) => use.method === 'GET');
    for (const [index, use] of ofGet.entries()) {
      const place = placeOf(index, use);
      const permission = requiredPermission({ ...use, verb: method === 'HEAD' ? use.verb : '' }, place);
      const request = { method, target: fillIn(use.path, place) + use.query };
      actAs(ann, (one) => one === permission);
      // As in kube-apiserver, the objects of all namespaces of a custom kind can only be listed and watched.
      const status = use.group === lampKind.group && !use.path.includes('{namespace}') ? 404 : 405;
      expect([titleOf(use), (await send(request)).status, authorized]).toEqual([titleOf(use), status, [permission]]);
      actAs(ann, (one) => one !== permission);
      expect([titleOf(use), (await send(request)).status]).toEqual([titleOf(use), 403]);
    }
  });
});

/** Paths of documents, with the name of a health check for the parameter. */
const documentPaths = Object.keys(documents).map((pattern) => pattern.replace(/[:*]check$/, 'ping'));

describe('A non-resource path', () => {
  const paths = [...documentPaths, '/', '/nope', '/metrics/x'];

  test.each(paths)('%s requires permission for its method on exactly this path', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'BREW']) {
      const permission = `${method.toLowerCase()} ${path}`;
      actAs(ann, (one) => one === permission);
      const { status } = await send({ method, target: path });
      const isDocument = documentPaths.includes(path);
      const served = method === 'GET' || method === 'HEAD' ? 200 : 405;
      expect([method, status, authorized]).toEqual([method, isDocument ? served : 404, [permission]]);
      actAs(ann, (one) => one !== permission);
      const refused = await send({ method, target: path });
      expect([method, refused.status]).toEqual([method, 403]);
      expect(JSON.parse(await textOf(refused))).toMatchObject({
        message: `forbidden: User "ann" cannot ${method.toLowerCase()} path "${path}": no rule`,
        details: {},
      });
      actAs(undefined, () => true);
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
])('the 404 of %s is returned only to users with permission for it', async (target, permission) => {
  actAs(ann, (one) => one === permission);
  expect([(await send({ method: 'GET', target })).status, authorized]).toEqual([404, [permission]]);
  actAs(ann, (one) => one !== permission);
  expect((await send({ method: 'GET', target })).status).toBe(403);
});

describe('Secondary effects of a request', () => {
  const accounts = '/api/v1/namespaces/besides/serviceaccounts';
  const permissionTo = (verb: string, name?: string): string =>
    permissionText({ verb, what: '/serviceaccounts', namespace: 'besides', name });
  const grant = (...permissions: string[]): void => actAs(ann, (one) => permissions.includes(one));
  const apply = (name: string): Request => ({
    method: 'PATCH',
    target: `${accounts}/${name}?fieldManager=m`,
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    type: 'application/apply-patch+yaml',
  });

  test('a creating apply requires permission to create, an updating one does not', async () => {
    grant(permissionTo('patch', 'a'));
    const refused = await send(apply('a'));
    expect([refused.status, authorized]).toEqual([403, [permissionTo('patch', 'a'), permissionTo('create', 'a')]]);
    expect(JSON.parse(await textOf(refused))).toMatchObject({
      message:
        'serviceaccounts "a" is forbidden: User "ann" cannot create resource "serviceaccounts" in API group "" in the namespace "besides": no rule',
    });
    grant(permissionTo('patch', 'a'), permissionTo('create', 'a'));
    expect((await send(apply('a'))).status).toBe(201);
    grant(permissionTo('patch', 'a'));
    expect([(await send(apply('a'))).status, authorized]).toEqual([200, [permissionTo('patch', 'a')]]);
  });

  test('a creating PUT requires permission to create', async () => {
    const replaceable = allKinds.filter(({ createOnUpdate }) => createOnUpdate);
    expect(replaceable.length).toBeGreaterThan(0);
    for (const [index, kind] of replaceable.entries()) {
      const update = uses().find(
        ({ method, group, plural, subresource }) =>
          method === 'PUT' && group === kind.group && plural === kind.plural && !subresource,
      );
      if (!update) throw new Error(`${kind.kind} has no PUT`);
      const place = { namespace: 'besides', name: `put-${index}` };
      const [permission, create] = ['update', 'create'].map((verb) => requiredPermission({ ...update, verb }, place));
      const body = {
        ...sampleOf(`${kind.group}/${kind.plural}`, place),
        kind: kind.kind,
        apiVersion: kind.apiVersion,
      };
      const request = { method: 'PUT', target: fillIn(update.path, place), body };
      actAs(ann, (one) => one === permission);
      expect([(await send(request)).status, authorized]).toEqual([403, [permission, create]]);
      actAs(ann, (one) => one === permission || one === create);
      expect([kind.kind, (await send(request)).status]).toEqual([kind.kind, 201]);
    }
  });

  test.each([
    ['DELETE', '/u', 'delete', 'u'],
    ['DELETE', '', 'deletecollection', undefined],
  ])('an unsafe deletion by %s %s requires a separate permission', async (method, path, verb, name) => {
    const [permission, unsafe] = [permissionTo(verb, name), permissionTo('unsafe-delete-ignore-read-errors', name)];
    actAs(ann, () => true);
    await send({ method: 'POST', target: accounts, body: { metadata: { name: 'u' } } });
    const target = `${accounts}${path}?ignoreStoreReadErrorWithClusterBreakingPotential=true`;
    grant(permission);
    const refused = await send({ method, target });
    expect([refused.status, authorized]).toEqual([403, [permission, unsafe]]);
    expect(JSON.parse(await textOf(refused))).toMatchObject({
      message: expect.stringContaining(
        'is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: no rule',
      ),
    });
    grant(unsafe);
    expect((await send({ method, target })).status).toBe(403);
    grant(permission, unsafe);
    await send({ method, target });
    expect(authorized).toEqual([permission, unsafe]);
  });

  test.each([
    ['bob', 'impersonate /users of bob'],
    ['system:serviceaccount:team:robot', 'impersonate /serviceaccounts in team of robot'],
  ])("impersonating %s requires permission, and uses the impersonated user's permissions", async (name, permission) => {
    const request = async (): Promise<number> =>
      (await pipeline.ask('GET', accounts, { headers: { 'impersonate-user': name } })).status;
    grant(permissionTo('list'));
    expect(await request()).toBe(403);
    expect(authorized).not.toContain(permissionTo('list'));
    grant(permission);
    expect(await request()).toBe(403);
    expect(authorized.at(-1)).toBe(permissionTo('list'));
    grant(permission, permissionTo('list'));
    expect(await request()).toBe(200);
  });
});
