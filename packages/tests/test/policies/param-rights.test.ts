import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { AccessAttributes } from '@cluster-apiserver/model';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { openPolicyServer, type PolicyServer, registration } from './policy-server.ts';

let server: PolicyServer;
let allowed: (attributes: AccessAttributes) => boolean;
let checks: AccessAttributes[] = [];
const masters = { name: 'root', groups: ['system:masters'] };
const alice = { name: 'alice', uid: '7', groups: ['devs', 'system:authenticated'], extra: { b: ['2'], a: ['1', '3'] } };
const described = '&{alice 7 [devs system:authenticated] map[a:[1 3] b:[2]]}';

const types = {
  validating: {
    policies: `${registration}/validatingadmissionpolicies`,
    bindings: `${registration}/validatingadmissionpolicybindings`,
    spec: { validations: [{ expression: 'true' }] },
    bindingSpec: { validationActions: ['Deny'] },
  },
  mutating: {
    policies: `${registration}/mutatingadmissionpolicies`,
    bindings: `${registration}/mutatingadmissionpolicybindings`,
    spec: {
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
    },
    bindingSpec: {},
  },
} as const;

const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] }];
const policy = (type: keyof typeof types, name: string, paramKind?: object): object => ({
  metadata: { name },
  spec: { ...types[type].spec, matchConstraints: { resourceRules: rules }, ...(paramKind && { paramKind }) },
});
const account = { apiVersion: 'v1', kind: 'ServiceAccount' };
const unserved = { apiVersion: 'example.com/v1', kind: 'Limit' };

beforeAll(async () => {
  server = await openPolicyServer({
    authorizer: {
      authorize: (attributes) => {
        checks.push(attributes);
        return { verdict: allowed(attributes) ? 'allow' : 'noOpinion' };
      },
    },
  });
  server.user = masters;
  for (const type of ['validating', 'mutating'] as const)
    for (const [name, paramKind] of [
      ['of-accounts', account],
      ['of-limits', unserved],
      ['plain', undefined],
    ] as const)
      expect(await server.request('POST', types[type].policies, policy(type, name, paramKind))).toMatchObject({
        status: 201,
      });
});
afterAll(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});
beforeEach(() => {
  server.user = alice;
  allowed = () => false;
  checks = [];
});

const refusalOf = ({ status, body }: JsonResponse): unknown => [status, body.reason, body.details?.causes];
const forbidden = (field: string, message: string): unknown => [
  422,
  'Invalid',
  [{ field, reason: 'FieldValueForbidden', message: `Forbidden: user ${message}` }],
];

test.each(['validating', 'mutating'] as const)(
  'the writer of a %s policy needs permission to get all of its parameters',
  async (type) => {
    const { policies } = types[type];
    expect(refusalOf(await server.request('POST', policies, policy(type, 'new', account)))).toEqual(
      forbidden(
        'spec.paramKind',
        `${described} must have "get" permission on all objects of the referenced paramKind (kind=ServiceAccount, apiVersion=v1)`,
      ),
    );
    expect(checks.at(-1)).toMatchObject({
      verb: 'get',
      resource: { group: '', version: 'v1', resource: 'serviceaccounts', namespace: '*', name: '*' },
    });
    await server.request('POST', policies, policy(type, 'new', unserved));
    expect(checks.at(-1)?.resource).toMatchObject({ group: 'example.com', version: 'v1', resource: '*' });
    checks = [];
    expect((await server.request('POST', `${policies}?dryRun=All`, policy(type, 'new'))).status).toBe(201);
    expect(checks).toEqual([]);
    allowed = ({ resource }) => resource?.resource === 'serviceaccounts' && resource.name === '*';
    expect((await server.request('POST', `${policies}?dryRun=All`, policy(type, 'new', account))).status).toBe(201);
  },
);

test.each(['validating', 'mutating'] as const)('a %s policy is checked when its paramKind changes', async (type) => {
  const { policies } = types[type];
  const merge = 'application/merge-patch+json';
  const change = (name: string, spec: object): Promise<JsonResponse> =>
    server.request('PATCH', `${policies}/${name}?dryRun=All`, { spec }, merge);
  expect((await change('of-accounts', { failurePolicy: 'Ignore' })).status).toBe(200);
  expect((await change('of-accounts', { paramKind: null })).status).toBe(200);
  expect((await change('of-accounts', { paramKind: { kind: 'Namespace' } })).status).toBe(422);
  expect((await change('plain', { paramKind: account })).status).toBe(422);
});

const binding = (type: keyof typeof types, policyName: string, paramRef?: object): object => ({
  metadata: { name: 'new' },
  spec: {
    ...types[type].bindingSpec,
    policyName,
    ...(paramRef && { paramRef: { parameterNotFoundAction: 'Deny', ...paramRef } }),
  },
});
const missingPermission = (verb: string): string => `user ${described} does not have "${verb}" permission`;

test.each(
  (['validating', 'mutating'] as const).flatMap((type) =>
    [
      [
        'a name',
        'of-accounts',
        { name: 'x', namespace: 'a' },
        'get',
        { resource: 'serviceaccounts', namespace: 'a', name: 'x' },
      ],
      [
        'a name in every namespace',
        'of-accounts',
        { name: 'x' },
        'get',
        { resource: 'serviceaccounts', namespace: undefined },
      ],
      [
        'a selector',
        'of-accounts',
        { selector: {}, namespace: 'a' },
        'list',
        { resource: 'serviceaccounts', name: undefined },
      ],
      ['no kind', 'plain', { name: 'x' }, 'get', { group: '*', version: '*', resource: '*' }],
    ].map((one) => [type, ...one] as [keyof typeof types, string, string, object, string, object]),
  ),
)(
  'the writer of a binding of a %s policy needs permission to read the parameters: %s',
  async (type, _, policyName, paramRef, verb, resource) => {
    const { bindings } = types[type];
    expect(refusalOf(await server.request('POST', bindings, binding(type, policyName, paramRef)))).toEqual(
      forbidden(
        'spec.paramRef',
        `${described} does not have "${verb}" permission on the object referenced by paramRef`,
      ),
    );
    expect(checks.at(-1)).toMatchObject({ verb, resource });
    allowed = () => true;
    const { status } = await server.request('POST', `${bindings}?dryRun=All`, binding(type, policyName, paramRef));
    expect(status).toBe(201);
  },
);

test.each([
  ['of-limits', `unable to resolve paramKind example.com/v1, Kind=Limit`],
  ['nowhere', 'unable to get policy nowhere'],
])('a binding of %s requires the permission in all namespaces', async (policyName, problem) => {
  const refused = await server.request(
    'POST',
    types.validating.bindings,
    binding('validating', policyName, { name: 'x' }),
  );
  expect(refused.body.details?.causes?.[0]?.message).toBe(
    `Forbidden: ${problem} to determine minimum required permissions and ${missingPermission('get')} for all groups, versions and resources`,
  );
});

test('bindings without parameters, members of system:masters and deletions need no extra permission', async () => {
  const { bindings, policies } = types.validating;
  expect((await server.request('POST', `${bindings}?dryRun=All`, binding('validating', 'of-accounts'))).status).toBe(
    201,
  );
  expect((await server.request('DELETE', `${policies}/of-accounts?dryRun=All`)).status).toBe(200);
  server.user = masters;
  const bound = binding('validating', 'of-accounts', { name: 'x' });
  expect((await server.request('POST', `${bindings}?dryRun=All`, bound)).status).toBe(201);
  expect(checks).toEqual([]);
});
