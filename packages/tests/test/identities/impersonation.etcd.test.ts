/** Impersonation headers over HTTP/1.1 and HTTP/2. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type TestAuthority, testAuthority } from '../../../certificates/test/test-authority.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { openClient, type Client, protocols, userOf } from './identity-client.ts';

let clients: TestAuthority;
let server: TestServer;
beforeAll(async () => {
  clients = await testAuthority('clients');
  const files = { 'clients.crt': clients.certificate };
  server = await serveKinds(kinds, { flags: ['--client-ca-file=clients.crt'], files });
});
afterAll(() => server.close());

const opened: Client[] = [];
afterAll(() => opened.forEach((client) => client.close()));

describe.each(protocols)('Impersonation headers over %s', (protocol) => {
  let send: Client['send'];
  let sendAsAnn: Client['send'];
  beforeAll(async () => {
    const master = openClient(server, protocol);
    const ann = openClient(server, protocol, await clients.issue({ subject: [['CN', 'ann']] }));
    opened.push(master, ann);
    send = (headers, path) => master.send({ authorization: `Bearer ${server.token}`, ...headers }, path);
    sendAsAnn = ann.send;
  });

  test('impersonate the named user with every header line', async () => {
    const response = await send({
      'Impersonate-User': 'bøb',
      'IMPERSONATE-GROUP': ['devs, ops', 'qa'],
      'impersonate-uid': 'u7',
      'Impersonate-Extra-Acme.com%2Fproject': ['one', 'two'],
    });
    expect(userOf(response)).toEqual({
      username: 'bøb',
      uid: 'u7',
      groups: ['devs, ops', 'qa', 'system:authenticated'],
      extra: { 'acme.com/project': ['one', 'two'] },
    });
  });

  test('impersonate a service account with its groups', async () => {
    const name = 'system:serviceaccount:team:robot';
    expect(userOf(await send({ 'impersonate-user': name }))).toEqual({
      username: name,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
    });
  });

  test('apply to authorization: the impersonated user has no permissions of the caller', async () => {
    const events = '/api/v1/namespaces/a/events';
    expect(await send({ 'impersonate-user': 'bob' }, events)).toMatchObject({
      status: 403,
      body: {
        message: 'events is forbidden: User "bob" cannot create resource "events" in API group "" in the namespace "a"',
      },
    });
    expect((await send({ 'impersonate-user': 'system:anonymous' })).status).toBe(403);
  });

  test('are rejected without permission, with the missing one', async () => {
    // Only unconstrained impersonation permission allows other groups for a service account.
    const robot = { 'impersonate-user': 'system:serviceaccount:team:robot', 'impersonate-group': 'devs' };
    expect(await sendAsAnn(robot)).toMatchObject({
      status: 403,
      body: {
        reason: 'Forbidden',
        message:
          'serviceaccounts "robot" is forbidden: User "ann" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "team"',
        details: { name: 'robot', kind: 'serviceaccounts' },
      },
    });
    for (const more of [{}, { 'impersonate-group': 'system:masters' }])
      expect(await sendAsAnn({ 'impersonate-user': 'bob', ...more })).toMatchObject({
        status: 403,
        body: {
          message:
            'selfsubjectreviews.authentication.k8s.io is forbidden: User "ann" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
        },
      });
    expect(userOf(await sendAsAnn())).toMatchObject({ username: 'ann' });
  });

  test.each<[string, Record<string, string | string[]>]>([
    ['groups without a user', { 'impersonate-group': 'system:masters' }],
    ['two users', { 'impersonate-user': ['ann', 'bob'] }],
    ['an empty user', { 'impersonate-user': '' }],
    ['an empty group', { 'impersonate-user': 'bob', 'impersonate-group': ['devs', ''] }],
    ['underscores', { impersonate_user: 'bob' }],
    ['an unknown header', { 'impersonate-user': 'bob', 'impersonate-role': 'root' }],
  ])('with %s are a bad request from every user', async (_, headers) => {
    for (const one of [send, sendAsAnn])
      expect(await one(headers)).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });

  test('are evaluated only after authentication', async () => {
    const anonymous = openClient(server, protocol);
    opened.push(anonymous);
    expect((await anonymous.send({ 'impersonate-user': 'bob' })).status).toBe(401);
  });
});
