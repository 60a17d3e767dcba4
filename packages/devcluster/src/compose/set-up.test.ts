import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { changeEncryptionKeys, setUp } from './set-up.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'set-up-'));
const rotated = `${directory}-rotated`;
const read = (...names: string[]): string => fs.readFileSync(path.join(directory, ...names), 'utf8');
const run = () =>
  setUp({
    directory,
    address: 'https://127.0.0.1:7443',
    service: undefined,
    user: undefined,
    clock: systemClock,
    random: systemRandom(),
  });

type Keys = [{ readonly name: string; readonly secret: string }];
const keysIn = (line: string): Keys => JSON.parse(line.slice('keys: '.length)) as Keys;

beforeAll(async () => {
  fs.mkdirSync(path.join(directory, 'config'));
  const template = ['keys: ${ENCRYPTION_KEYS}', 'authority: |', '  ${CERTIFICATE_AUTHORITY}', 'other: ${OTHER}', ''];
  fs.writeFileSync(path.join(directory, 'config', 'example.yaml'), template.join('\n'));
  await run();
});
afterAll(() => [directory, rotated].forEach((folder) => fs.rmSync(folder, { recursive: true, force: true })));

test('every leaf certificate is signed by its CA, and etcd has a different CA than clients', () => {
  const authority = (name: string) => new X509Certificate(read('authorities', `${name}-ca.crt`)).publicKey;
  const isSigned = (name: string, ...file: string[]) => new X509Certificate(read(...file)).verify(authority(name));
  expect(isSigned('etcd', 'etcd', 'etcd-2.crt')).toBe(true);
  expect(isSigned('etcd', 'apiserver', 'etcd-client.crt')).toBe(true);
  expect(isSigned('cluster', 'apiserver', 'server.crt')).toBe(true);
  expect(isSigned('cluster', 'credentials', 'admin.crt')).toBe(true);
  expect(isSigned('etcd', 'credentials', 'admin.crt')).toBe(false);
});

test('the kubeconfig names the address on the host and the client certificate', () => {
  expect(read('credentials', 'kubeconfig')).toContain('server: https://127.0.0.1:7443\n');
  const [, data = ''] = /client-certificate-data: (\S+)/.exec(read('credentials', 'kubeconfig')) ?? [];
  expect(new X509Certificate(Buffer.from(data, 'base64')).subject).toBe('O=system:masters\nCN=admin');
});

test('placeholders in configuration are replaced by their values, whole lines with their indentation', () => {
  const [keys = '', , ...lines] = read('apiserver', 'example.yaml').trimEnd().split('\n');
  const [{ name, secret }] = keysIn(keys);
  expect(name).toBe('compose-1');
  expect(Buffer.from(secret, 'base64')).toHaveLength(32);
  expect(lines.at(-1)).toBe('other: ${OTHER}');
  expect(lines.slice(0, -1).every((line) => line.startsWith('  '))).toBe(true);
  expect(
    lines
      .slice(0, -1)
      .map((line) => line.slice(2))
      .join('\n'),
  ).toBe(read('credentials', 'ca.crt').trimEnd());
});

test('private keys and configuration with secrets are readable by their owner only', () => {
  const modeOf = (...names: string[]) => fs.statSync(path.join(directory, ...names)).mode & 0o777;
  const files = ['authorities/etcd-ca.key', 'etcd/etcd-1.key', 'apiserver/example.yaml', 'credentials/kubeconfig'];
  expect(files.map((file) => modeOf(file))).toEqual(files.map(() => 0o600));
});

test('another run keeps CAs and keys and issues new certificates', async () => {
  const kept = [
    'authorities/etcd-ca.crt',
    'apiserver/ca.crt',
    'apiserver/example.yaml',
    'apiserver/service-accounts.key',
  ];
  const [before, certificate] = [kept.map((file) => read(file)), read('apiserver', 'server.crt')];
  await run();
  expect(kept.map((file) => read(file))).toEqual(before);
  expect(read('apiserver', 'server.crt')).not.toBe(certificate);
});

test('a rotation adds a key, lets it encrypt, and removes the other one', () => {
  // Of its own, because others read the first key.
  fs.cpSync(directory, rotated, { recursive: true });
  const change = (step: 'add' | 'use' | 'remove'): readonly string[] => {
    const names = changeEncryptionKeys(step, { directory: rotated, service: undefined, random: systemRandom() });
    const [keys = ''] = fs.readFileSync(path.join(rotated, 'apiserver', 'example.yaml'), 'utf8').split('\n');
    expect(keysIn(keys).map(({ name }) => name)).toEqual(names);
    return names;
  };
  expect(change('add')).toEqual(['compose-1', 'compose-2']);
  expect(change('use')).toEqual(['compose-2', 'compose-1']);
  expect(change('remove')).toEqual(['compose-2']);
  expect(change('add')).toEqual(['compose-2', 'compose-3']);
});

test('the load balancer has a certificate of its own for the same names', () => {
  const { subjectAltName } = new X509Certificate(read('load-balancer', 'server.pem'));
  expect(subjectAltName).toContain('DNS:load-balancer');
  expect(read('load-balancer', 'server.pem')).toContain('PRIVATE KEY');
});
