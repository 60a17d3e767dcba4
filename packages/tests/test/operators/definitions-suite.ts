/** What a project publishes works: with kubectl, at each of three replicas. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { describeIf } from '../describe-if.ts';
import type { Client } from '@cluster-apiserver/testkit/api-client';
import { connectKubectl, hasKubectl, type Kubectl } from '../kubectl/kubectl.ts';
import { type Replicas, startReplicas } from '../operations/replicas.ts';
import { type Definition, missing, type Publication, readDefinitions, readSamples } from './official-definitions.ts';

const slowTestMs = 300_000;

/** Of CPU time, also on a slow machine; measured: 12. */
const turnMaxMs = 50;
const recorder = path.resolve(import.meta.dirname, '../../../testkit/src/record-turns.ts');

const skipped = missing ?? (hasKubectl ? undefined : 'there is no kubectl on the PATH');

export function describePublications(publications: readonly Publication[]): void {
  describeIf(!skipped, 'published definitions', skipped ?? '', () => {
    const cleanup = new CleanupStack();
    let replicas: Replicas;
    let clients: readonly Client[];
    let kubectl: Kubectl;
    let turnFiles: readonly string[];
    beforeAll(async () => {
      const etcd = await startEtcd();
      cleanup.defer('etcd', () => etcd.stop());
      const turns = fs.mkdtempSync(path.join(os.tmpdir(), 'turns-'));
      cleanup.defer('turns', () => fs.rmSync(turns, { recursive: true }));
      turnFiles = [1, 2, 3].map((replica) => path.join(turns, `${replica}`));
      replicas = await startReplicas({
        etcdEndpoints: etcd.endpoints,
        replicas: turnFiles.map((file) => ({ nodeOptions: [`--import=${recorder}`], env: { TURNS_FILE: file } })),
      });
      cleanup.defer('replicas', () => replicas.stop());
      clients = replicas.all.map((replica) => replica.client());
      for (const client of clients) cleanup.defer('client', () => client.close());
      kubectl = connectKubectl({ ...replicas, url: replicas.front });
      cleanup.defer('kubectl', () => kubectl.close());
    }, slowTestMs);
    afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

    test.each(publications)(
      '$module: kubectl applies its definitions, each replica serves them, and its samples are accepted',
      async (publication) => {
        const beganMs = Date.now();
        const { files, others, found } = readDefinitions(publication);
        expect(found.length).toBeGreaterThan(0);
        await applyAll(
          kubectl,
          files,
          found.map(({ spec: { group, names } }) => `${names.plural}.${group}`),
        );
        if (others.length > 0) await kubectl.stdoutOf(['apply', '--server-side', ...named(others)]);
        for (const client of clients)
          for (const definition of found)
            for (const version of definition.spec.versions.filter(({ served }) => served))
              await expectServed(client, definition, version.name);
        await acceptSamples(kubectl, publication, found);
        const { field, type } = publication.explained;
        expect(await kubectl.stdoutOf(`explain ${field}`)).toMatch(
          new RegExp(`FIELD: ${field.split('.').at(-1)} <${type.replaceAll(/[[\]]/g, '\\$&')}>`),
        );
        for (const file of turnFiles) expect(longTurnsSince(file, beganMs)).toEqual([]);
      },
      slowTestMs,
    );
  });
}

/** Their milliseconds of CPU time. Replicas have some while they start. */
function longTurnsSince(file: string, beganMs: number): readonly number[] {
  const turns = [...fs.readFileSync(file, 'utf8').matchAll(/(\S+) (\S+)\n/g)].map(([, at, used]) => ({
    atMs: Number(at),
    usedMs: Number(used),
  }));
  expect(turns.length).toBeGreaterThan(0);
  return turns.flatMap(({ atMs, usedMs }) => (atMs >= beganMs && usedMs > turnMaxMs ? [usedMs] : []));
}

/** Client-side, as far as its annotation has room for the definition, and server-side. */
async function applyAll(kubectl: Kubectl, files: readonly string[], names: readonly string[]): Promise<void> {
  const { out, error } = await kubectl.run(['apply', ...named(files)]);
  const refused = new Map([...error.matchAll(/"([^"]+)" is invalid: (.*)/g)].map(([, name, why]) => [name, why]));
  for (const why of refused.values()) expect(why).toMatch(/^metadata.annotations: Too long/);
  for (const name of names) if (!refused.has(name)) expect(out).toContain(`${name} created`);
  await kubectl.stdoutOf(['apply', '--server-side', ...named(files)]);
  const definitions = names.map((name) => `crd/${name}`);
  await kubectl.stdoutOf(['wait', '--for=condition=Established', '--timeout=60s', ...definitions]);
}

async function acceptSamples(kubectl: Kubectl, publication: Publication, found: readonly Definition[]): Promise<void> {
  const samples = readSamples(publication, found);
  expect(samples).toHaveLength(publication.samples.count);
  const files = [...new Set(samples.map(({ file }) => file))];
  // Files describe alternatives: those of each are in a namespace of their own.
  const namespaceOf = (file: string): string => `${slug(publication.module)}-${files.indexOf(file)}`;
  const namespaces = files.map((file) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespaceOf(file) },
  }));
  const items = samples.map(({ file, manifest, isNamespaced }) => ({
    ...manifest,
    metadata: {
      ...manifest.metadata,
      name: manifest.metadata?.name ?? 'unnamed',
      ...(isNamespaced && { namespace: namespaceOf(file) }),
    },
  }));
  const list = { apiVersion: 'v1', kind: 'List', items: [...namespaces, ...items] };
  const { code, error } = await kubectl.run('apply --server-side -f -', JSON.stringify(list));
  // Deprecated versions and names are warned of.
  expect({ code, error: error.replaceAll(/^Warning: .*\n/gm, '') }).toEqual({ code: 0, error: '' });
}

const named = (files: readonly string[]): readonly string[] => files.flatMap((file) => ['-f', file]);

const slug = (module: string): string => module.replaceAll(/[^a-z0-9]+/g, '-');

async function expectServed(client: Client, { spec: { group, names } }: Definition, version: string): Promise<void> {
  const list = await client.request('GET', `/apis/${group}/${version}/${names.plural}`);
  expect(list.status).toBe(200);
  const { body } = await client.request('GET', `/openapi/v3/apis/${group}/${version}`);
  const { components } = JSON.parse(body) as { readonly components: { readonly schemas: object } };
  const described = { 'x-kubernetes-group-version-kind': [{ group, version, kind: names.kind }] };
  expect(Object.values(components.schemas)).toContainEqual(expect.objectContaining(described));
}
