/** The kubectl of the machine against a real server: what it needs to know before it can do anything. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { kinds } from '@cluster-apiserver/kinds';
import { type ServedKinds, serveKinds } from './serve-kinds.ts';

const found = spawnSync('kubectl', ['version', '--client']).status === 0;
if (!found) console.warn('There is no kubectl on the PATH: nothing is tested with it.');

(found ? describe : describe.skip)('kubectl', () => {
  let server: ServedKinds;
  /** Its home, so that it finds no configuration and no cache but its own. */
  let home: string;
  beforeAll(async () => {
    server = await serveKinds(kinds);
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'kubectl-'));
    fs.writeFileSync(path.join(home, 'ca.crt'), server.certificate);
  });
  afterAll(async () => {
    await server.close();
    fs.rmSync(home, { recursive: true, force: true });
  });

  interface Said {
    readonly code: number;
    readonly out: string;
    readonly error: string;
  }

  async function kubectl(line: string, input = ''): Promise<Said> {
    const access = [`--server=${server.url}`, `--certificate-authority=${path.join(home, 'ca.crt')}`];
    const child = spawn('kubectl', [...access, `--token=${server.token}`, '--namespace=team', ...line.split(' ')], {
      env: { PATH: process.env.PATH, HOME: home },
    });
    child.stdin.end(input);
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code: code as number, out, error };
  }

  const words = (out: string): string[][] =>
    out
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/));

  const account = (secret: string, more: object = {}): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'robot' },
      secrets: [{ name: secret }],
      ...more,
    });

  test('takes our version for one', async () => {
    const { code, out } = await kubectl('version -o json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ serverVersion: { major: '1', minor: '36' } });
  });

  test('finds the kinds with their short names', async () => {
    const resources = words((await kubectl('api-resources --no-headers')).out);
    expect(resources).toContainEqual(['events', 'ev', 'v1', 'true', 'Event']);
    expect(resources).toContainEqual(['namespaces', 'ns', 'v1', 'false', 'Namespace']);
    expect(resources).toContainEqual(['serviceaccounts', 'sa', 'v1', 'true', 'ServiceAccount']);
    expect(words((await kubectl('api-versions')).out)).toContainEqual(['v1']);
  });

  test('explains them with our own words', async () => {
    const { out } = await kubectl('explain sa.secrets');
    expect(out).toContain('secrets <[]ObjectReference>');
    expect(out).toContain('Secrets in the same namespace that pods running as this service account may');
    const recursive = (await kubectl('explain events --recursive')).out;
    expect(recursive).toMatch(/involvedObject\s<ObjectReference> -required-/);
    expect(recursive).toMatch(/series\s<EventSeries>\n\s+count\s<integer>/);
  });

  test('makes, shows, describes and deletes namespaces, and waits until they are gone', async () => {
    expect(await kubectl('create ns crew')).toMatchObject({ code: 0, out: 'namespace/crew created\n' });
    expect(words((await kubectl('get ns crew')).out)).toEqual([
      ['NAME', 'STATUS', 'AGE'],
      ['crew', 'Active', expect.stringMatching(/^\d+s$/)],
    ]);
    expect((await kubectl('describe ns crew')).out).toMatch(/Name:\s+crew\n[^]*Status:\s+Active/);
    expect(await kubectl('create sa robot -n crew')).toMatchObject({ code: 0 });
    expect(await kubectl('delete ns crew --wait --timeout=30s')).toMatchObject({ code: 0 });
    expect(await kubectl('get ns crew')).toMatchObject({ code: 1, error: expect.stringContaining('NotFound') });
    expect((await kubectl('get sa -n crew -o name')).out).toBe('');
    expect(await kubectl('delete ns kube-system')).toMatchObject({
      code: 1,
      error: expect.stringContaining('Forbidden'),
    });
  });

  test('lets the server validate what it creates', async () => {
    const refused = await kubectl('create -f -', account('one', { colour: 'red' }));
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('unknown field "colour"') });
    const warned = await kubectl('create -f - --validate=warn --dry-run=server', account('one', { colour: 'red' }));
    expect(warned).toMatchObject({ code: 0, error: expect.stringContaining('Warning: unknown field "colour"') });
  });

  test('applies, merges by the keys that we publish, and sees no difference afterwards', async () => {
    expect(await kubectl('apply -f -', account('one'))).toMatchObject({
      code: 0,
      out: 'serviceaccount/robot created\n',
    });
    expect(await kubectl('apply -f -', account('one'))).toMatchObject({ out: 'serviceaccount/robot unchanged\n' });
    expect(await kubectl('apply -f -', account('two'))).toMatchObject({ out: 'serviceaccount/robot configured\n' });
    const list = JSON.parse((await kubectl('get sa -A -o json')).out) as { items: { secrets: unknown }[] };
    expect(list.items.map(({ secrets }) => secrets)).toEqual([[{ name: 'two' }]]);
    expect(await kubectl('delete sa robot')).toMatchObject({ code: 0 });
    expect((await kubectl('get sa -o name')).out).toBe('');
  });

  test('speaks protobuf where it has only that, and shows the tables that the server makes', async () => {
    expect(await kubectl('create sa robot')).toMatchObject({ code: 0, out: 'serviceaccount/robot created\n' });
    expect(words((await kubectl('get sa')).out)).toEqual([
      ['NAME', 'AGE'],
      ['robot', expect.stringMatching(/^\d+s$/)],
    ]);
    const about = { kind: 'ServiceAccount', name: 'robot', namespace: 'team' };
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' }, involvedObject: about, reason: 'Woke' };
    expect(await kubectl('create -f -', JSON.stringify({ ...event, message: 'sees', type: 'Normal' }))).toMatchObject({
      code: 0,
    });
    const seen = ['<unknown>', 'Normal', 'Woke'];
    expect(words((await kubectl('get events --no-headers')).out)).toEqual([[...seen, 'serviceaccount/robot', 'sees']]);
    expect(words((await kubectl('events --no-headers')).out)).toEqual([[...seen, 'ServiceAccount/robot', 'sees']]);
    expect(await kubectl('delete sa robot')).toMatchObject({ code: 0 });
  });
});
