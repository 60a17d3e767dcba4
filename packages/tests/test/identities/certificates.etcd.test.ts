/** Client certificate authentication: real TLS and certificates against the assembled server. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import {
  serverUsage,
  type TestAuthority,
  testAuthority,
  type Wanted,
} from '../../../certificates/test/test-authority.ts';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { openClient, type Client, protocols, type ClientCertificate, userOf } from './identity-client.ts';

const ann: Wanted = {
  subject: [
    ['CN', 'ann'],
    ['O', 'devs'],
    ['O', 'system:authenticated'],
    ['O', 'ünits, two'],
  ],
};
const credential = {
  'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)],
};
const annKnown = { username: 'ann', groups: ['devs', 'system:authenticated', 'ünits, two'], extra: credential };

let clients: TestAuthority;
let proxies: TestAuthority;
let server: TestServer;
beforeAll(async () => {
  clients = await testAuthority('clients');
  proxies = await testAuthority('proxies');
  server = await serveKinds(kinds, {
    flags: [
      '--client-ca-file=clients.crt',
      '--requestheader-client-ca-file=proxies.crt',
      '--requestheader-allowed-names=front, other front',
    ],
    files: { 'clients.crt': clients.certificate, 'proxies.crt': proxies.certificate },
  });
});
afterAll(() => server.close());

const opened: Client[] = [];
afterAll(() => opened.forEach((client) => client.close()));

describe.each(protocols)('over %s', (protocol) => {
  const clientWith = (shown?: ClientCertificate): Client => {
    const client = openClient(server, protocol, shown);
    opened.push(client);
    return client;
  };

  test("a client is authenticated as its certificate's subject for every request of the connection", async () => {
    const client = clientWith(await clients.issue(ann));
    expect(userOf(await client.send())).toEqual(annKnown);
    expect(userOf(await client.send())).toEqual(annKnown);
  });

  test("intermediate certificates in the client's chain are used", async () => {
    const lower = await (await clients.intermediate('a')).intermediate('b');
    expect(userOf(await clientWith(await lower.issue(ann)).send())).toEqual(annKnown);
  });

  test('a client without a certificate can use a token, or is unauthenticated', async () => {
    const client = clientWith();
    expect((await client.send()).status).toBe(401);
    expect(userOf(await client.send({ authorization: `Bearer ${server.token}` }))).toMatchObject({ username: 'admin' });
  });

  test('the uid in the certificate becomes the uid of the user', async () => {
    const { chain, privateKey } = await clients.issue({ subject: [...ann.subject, ['1.3.6.1.4.1.57683.2', 'u7']] });
    expect(userOf(await clientWith({ chain, privateKey }).send())).toEqual({ ...annKnown, uid: 'u7' });
  });

  test('a valid certificate takes precedence over a token, and a token over an invalid certificate', async () => {
    const withToken = { authorization: `Bearer ${server.token}` };
    expect(userOf(await clientWith(await clients.issue(ann)).send(withToken))).toEqual(annKnown);
    const expired = clientWith(await clients.issue({ ...ann, validHours: [-2, -1] }));
    expect(userOf(await expired.send(withToken))).toMatchObject({ username: 'admin' });
    expect((await expired.send({ authorization: 'Bearer wrong' })).status).toBe(401);
  });

  test.each<[string, () => Promise<ClientCertificate>]>([
    ['that has expired', () => clients.issue({ ...ann, validHours: [-2, -1] })],
    ['that is not valid yet', () => clients.issue({ ...ann, validHours: [1, 2] })],
    ['for server authentication', () => clients.issue({ ...ann, usages: [serverUsage] })],
    ['of another CA with the same name', async () => (await testAuthority('clients')).issue(ann)],
    [
      'that is self-signed',
      async () => {
        const own = await testAuthority('own', { ...ann, authority: false });
        return { ...own, chain: own.certificate };
      },
    ],
    ['without a name', () => clients.issue({ subject: [['O', 'system:masters']] })],
    [
      'with two uids',
      () =>
        clients.issue({
          subject: [
            ['CN', 'ann'],
            ['1.3.6.1.4.1.57683.2', 'a'],
            ['1.3.6.1.4.1.57683.2', 'b'],
          ],
        }),
    ],
    ['of a front proxy without a user header', () => proxies.issue({ subject: [['CN', 'front']] })],
  ])('a certificate %s does not authenticate', async (_, issue) => {
    const response = await clientWith(await issue()).send();
    expect(response).toMatchObject({ status: 401, body: { reason: 'Unauthorized', message: 'Unauthorized' } });
  });

  describe('X-Remote-*, X-Forwarded-*', () => {
    const named = {
      'x-remote-user': 'bob',
      'x-remote-uid': 'u9',
      'x-remote-group': ['devs', 'ops, too'],
      'x-remote-extra-acme.com%2fproject': ['one', 'two'],
      'x-remote-extra-scopes': 'all',
    };
    const bob = {
      username: 'bob',
      uid: 'u9',
      groups: ['devs', 'ops, too', 'system:authenticated'],
      extra: { 'acme.com/project': ['one', 'two'], scopes: ['all'] },
    };

    test('a proxy with its own certificate sets the user', async () => {
      const client = clientWith(await proxies.issue({ subject: [['CN', 'other front']] }));
      expect(userOf(await client.send(named))).toEqual(bob);
      expect(userOf(await client.send({ 'X-Remote-User': 'eve' }))).toEqual({
        username: 'eve',
        groups: ['system:authenticated'],
      });
    });

    test('the headers of all other clients are ignored', async () => {
      const forwarded = {
        'x-forwarded-user': 'root',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-groups': 'system:masters',
      };
      const spoofed = { ...named, ...forwarded, 'x-remote-group': 'system:masters' };
      expect(userOf(await clientWith(await clients.issue(ann)).send(spoofed))).toEqual(annKnown);
      expect(userOf(await clientWith(await clients.issue({ subject: [['CN', 'front']] })).send(spoofed))).toMatchObject(
        {
          username: 'front',
          groups: ['system:authenticated'],
        },
      );
      expect((await clientWith().send(spoofed)).status).toBe(401);
      const strangers = [
        proxies.issue({ subject: [['CN', 'ann']] }),
        proxies.issue({ subject: [['CN', 'Front']] }),
        proxies.issue({
          subject: [
            ['CN', 'front'],
            ['CN', 'mallory'],
          ],
        }),
        proxies.issue({ subject: [['O', 'front']] }),
        proxies.issue({ subject: [['CN', 'front']], validHours: [-2, -1] }),
        proxies.issue({ subject: [['CN', 'front']], usages: [serverUsage] }),
        testAuthority('proxies').then((other) => other.issue({ subject: [['CN', 'front']] })),
      ];
      for (const stranger of await Promise.all(strangers))
        expect((await clientWith(stranger).send(spoofed)).status).toBe(401);
    });

    test("headers that a client adds to the proxy's are rejected or ignored", async () => {
      const client = clientWith(await proxies.issue({ subject: [['CN', 'front']] }));
      expect((await client.send({ 'x-remote-user': ['bob', 'root'] })).status).toBe(401);
      expect((await client.send({ ...named, 'x-remote-uid': ['u9', 'u0'] })).status).toBe(401);
      expect((await client.send({ 'x-remote-user': '' })).status).toBe(401);
      expect((await client.send({ 'x-remote-group': 'system:masters' })).status).toBe(401);
      expect((await client.send({ x_remote_user: 'root' })).status).toBe(401);
      const beside = { x_remote_user: 'root', x_remote_group: 'system:masters', 'x-remote-users': 'root' };
      expect(userOf(await client.send({ ...named, ...beside }))).toEqual(bob);
    });
  });

  test('a CA rotation applies to connections that are already open', async () => {
    const next = await testAuthority('clients');
    const [before, after] = [clientWith(await clients.issue(ann)), clientWith(await next.issue(ann))];
    expect([(await before.send()).status, (await after.send()).status]).toEqual([201, 401]);
    await server.write('clients.crt', 'not a certificate');
    await server.write('clients.crt', next.certificate);
    await until('the next CA to be trusted', async () => userOf(await after.send()), 10_000);
    expect((await before.send()).status).toBe(401);
    await server.write('clients.crt', clients.certificate + next.certificate);
    await until('the first CA to be trusted again', async () => userOf(await before.send()), 10_000);
    expect((await after.send()).status).toBe(201);
    await server.write('clients.crt', clients.certificate);
    await until('the next CA to be distrusted', async () => (await after.send()).status === 401 || undefined, 10_000);
  });
});

test("a CA for both clients and proxies requires the proxies' names", async () => {
  const flags = ['--client-ca-file=clients.crt', '--requestheader-client-ca-file=proxies.crt'];
  const files = { 'clients.crt': clients.certificate, 'proxies.crt': proxies.certificate + clients.certificate };
  await expect(serveKinds(kinds, { flags, files })).rejects.toThrow(
    /share an authority.*--requestheader-allowed-names/,
  );
});

test.each(['--client-ca-file', '--requestheader-client-ca-file'])(
  'the file of %s must contain a certificate',
  async (flag) => {
    await expect(serveKinds(kinds, { flags: [`${flag}=empty`], files: { empty: '' } })).rejects.toThrow(
      `${flag}: empty is not usable: there is no certificate in it`,
    );
    await expect(serveKinds(kinds, { flags: [`${flag}=missing`] })).rejects.toThrow(`${flag}: cannot read missing`);
  },
);
