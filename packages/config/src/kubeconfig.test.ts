import { expect, test } from '@jest/globals';
import { ConfigurationError, loadKubeconfig } from './index.ts';

const cluster = { server: 'https://reviews.example/authenticate', 'certificate-authority': 'ca.crt' };
const user = { 'client-certificate': 'a.crt', 'client-key': 'a.key', token: 'hush' };
const config = (more: { cluster?: object; user?: object; root?: object } = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'other', cluster: { server: 'https://other.example' } },
      { name: 'c', cluster: { ...cluster, ...more.cluster } },
    ],
    users: [{ name: 'u', user: { ...user, ...more.user } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
    ...more.root,
  });

test('the current context selects the server and the credentials', () => {
  expect(loadKubeconfig(config({ cluster: { 'tls-server-name': 'reviews' } }))).toEqual({
    server: new URL('https://reviews.example/authenticate'),
    tlsServerName: 'reviews',
    certificateAuthority: { file: 'ca.crt', path: ['clusters', 1, 'cluster', 'certificate-authority'] },
    clientCertificate: { file: 'a.crt', path: ['users', 0, 'user', 'client-certificate'] },
    clientKey: { file: 'a.key', path: ['users', 0, 'user', 'client-key'] },
    token: { data: Buffer.from('hush'), path: ['users', 0, 'user', 'token'] },
  });
});

test('inline data takes precedence over files, except for a token', () => {
  const data = Buffer.from('pem').toString('base64');
  const read = loadKubeconfig(
    config({
      cluster: { 'certificate-authority-data': data },
      user: { 'client-certificate-data': data, 'client-key-data': data, tokenFile: 'token' },
    }),
  );
  expect(read).toMatchObject({
    certificateAuthority: { data: Buffer.from('pem') },
    clientCertificate: { data: Buffer.from('pem') },
    token: { file: 'token' },
  });
});

test.each(['', 'hush'])('a file of tokens, which rotate, takes precedence over the token %j', (token) => {
  expect(loadKubeconfig(config({ user: { token, tokenFile: 'token' } })).token).toEqual({
    file: 'token',
    path: ['users', 0, 'user', 'tokenFile'],
  });
});

test('other contexts may use unsupported features', () => {
  const users = [
    { name: 'u', user },
    { name: 'other', user: { exec: { command: 'sh' } } },
  ];
  const contexts = [
    { name: 'other', context: { cluster: 7 } },
    { name: 'x', context: { cluster: 'c', user: 'u' } },
  ];
  expect(loadKubeconfig(config({ root: { users, contexts } })).token).toMatchObject({ data: Buffer.from('hush') });
});

test('a user is optional', () => {
  const contexts = [{ name: 'x', context: { cluster: 'c' } }];
  expect(loadKubeconfig(config({ root: { contexts } }))).toMatchObject({ token: undefined, clientKey: undefined });
});

test.each<[string, Parameters<typeof config>[0], RegExp]>([
  ['without a context', { root: { 'current-context': '' } }, /^current-context: Required value$/],
  ['with a context that is not there', { root: { 'current-context': 'y' } }, /^current-context: there is no context/m],
  [
    'with a cluster that is not there',
    { root: { clusters: [] } },
    /contexts\[0\]\.context\.cluster: there is no cluster/,
  ],
  ['for plain HTTP', { cluster: { server: 'http://reviews.example' } }, /cluster\.server: expected a URL with https/],
  [
    'with a password in the URL',
    { cluster: { server: 'https://a:hush@b' } },
    /cluster\.server: expected a URL with https/,
  ],
  ['that trusts any server', { cluster: { 'insecure-skip-tls-verify': true } }, /any server would be trusted/],
  ['that runs a program', { user: { exec: { command: 'sh' } } }, /users\[0\]\.user: unknown field "exec"/],
  ['with half of a certificate', { user: { 'client-key': '' } }, /a client certificate and its key go together/],
  [
    'with something else than base64',
    { user: { 'client-key-data': '*hush*' } },
    /client-key-data: expected bytes in base64/,
  ],
  ['of another kind', { root: { kind: 'Pod' } }, /^kind: expected Config$/],
])('rejects a file %s without showing a secret', (_, more, problem) => {
  const load = (): unknown => loadKubeconfig(config(more));
  expect(load).toThrow(ConfigurationError);
  expect(load).toThrow(problem);
  expect(load).not.toThrow(/hush/);
});
