/** A conversion between versions that has to wait, as that of a webhook does. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import { type BatchConversion, defineKind, type Kind, type KubeObject } from '@cluster-apiserver/model/kind';
import { field, int32 } from '@cluster-apiserver/model/schema';
import { type OpenPipeline, openPipeline } from '../test/open-pipeline.ts';
import { isReady, readWhole } from './body-source.ts';
import type { ApiResponse } from './exchange.ts';

/** How many objects each question had. */
let asked: number[];
/** The name of an object that cannot be converted. */
let broken: string | undefined;

const conversion: BatchConversion = {
  isImmediate: false,
  convert: async (objects, _, to) => {
    asked.push(objects.length);
    await new Promise((resolve) => setImmediate(resolve));
    return objects.map(({ arms, limbs, ...object }): KubeObject => {
      if (object.metadata.name === broken)
        throw new StatusError('InternalError', `conversion webhook failed for ${broken}`, undefined);
      const count = Number(arms ?? limbs ?? 0);
      const renamed = to.version === 'v2' ? { limbs: count } : { arms: count };
      return { ...object, apiVersion: to.apiVersion, ...renamed };
    });
  },
};

const kind = defineKind({
  group: 'robots.example',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: 'For these tests.',
  fields: { arms: field(2, int32, '') },
  otherVersions: [
    {
      group: 'robots.example',
      version: 'v2',
      fields: { limbs: field(2, int32, '') },
      renamed: { limbs: 'arms' },
      selectableFields: { limbs: 'limbs' },
      validate: () => {},
    },
  ],
  conversion,
});
// As a custom kind has them: each version is a kind of its own.
const versions = kind.versions.map((version): Kind => (version === kind ? kind : { ...kind, ...version }));
const fieldsOf = ({ limbs }: KubeObject): object => ({ limbs: String(limbs) });
for (const version of versions) Object.assign(version, { versions, fieldsOf });

let pipeline: OpenPipeline;
beforeEach(async () => {
  asked = [];
  broken = undefined;
  pipeline = await openPipeline({ kinds: [kind] });
});
afterEach(() => pipeline.close());

const at = (version: string): string => `/apis/robots.example/${version}/namespaces/n/robots`;
const send = (method: string, path: string, body: object, type = 'application/json'): Promise<ApiResponse> =>
  pipeline.ask(method, path, { body: JSON.stringify(body), headers: { 'content-type': type } });
async function textOf(answer: Promise<ApiResponse>): Promise<string> {
  const { body } = await answer;
  if (body !== undefined && isReady(body)) return (await readWhole(body)).toString();
  throw new Error('the body is short');
}
const json = async (answer: Promise<ApiResponse>): Promise<KubeObject & { readonly items?: readonly KubeObject[] }> =>
  JSON.parse(await textOf(answer)) as KubeObject;
const make = (name: string, limbs: number): Promise<ApiResponse> =>
  send('POST', at('v2'), { metadata: { name }, limbs });

async function framesOf(path: string, accept = 'application/json'): Promise<string[]> {
  const { stream } = await pipeline.ask('GET', path, { headers: { accept } });
  const frames: Buffer[] = [];
  const { signal } = new AbortController();
  const sink = { backlogBytes: 0, drained: async () => {}, signal, draining: signal };
  await stream?.({ ...sink, write: (bytes) => void frames.push(bytes) });
  return Buffer.concat(frames).toString().trim().split('\n');
}

test('objects are converted on their way in and out, lists and events in batches', async () => {
  expect(await json(make('a', 2))).toMatchObject({ apiVersion: 'robots.example/v2', limbs: 2 });
  await make('b', 3);
  expect(await json(pipeline.ask('GET', `${at('v1')}/a`))).toMatchObject({ apiVersion: 'robots.example/v1', arms: 2 });
  expect(await json(pipeline.ask('GET', `${at('v2')}/a`))).toMatchObject({ limbs: 2 });
  const patched = send('PATCH', `${at('v2')}/a`, { limbs: 4 }, 'application/merge-patch+json');
  expect(await json(patched)).toMatchObject({ apiVersion: 'robots.example/v2', limbs: 4 });
  asked = [];
  expect(await json(pipeline.ask('GET', at('v1')))).toMatchObject({ items: [{ arms: 4 }, { arms: 3 }] });
  expect(asked).toEqual([]);
  expect(await json(pipeline.ask('GET', at('v2')))).toMatchObject({
    apiVersion: 'robots.example/v2',
    items: [{ limbs: 4 }, { limbs: 3 }],
  });
  expect(asked).toEqual([2]);
  asked = [];
  const events = await framesOf(`${at('v2')}?watch=true&timeoutSeconds=1`);
  expect(events.map((line) => JSON.parse(line))).toMatchObject([
    { type: 'ADDED', object: { limbs: 4 } },
    { type: 'ADDED', object: { limbs: 3 } },
  ]);
  expect(asked).toEqual([2]);
});

test.each(['application/yaml', 'application/vnd.kubernetes.protobuf', 'application/json;as=Table;v=v1;g=meta.k8s.io'])(
  '%s has the converted objects',
  async (accept) => {
    await make('a', 2);
    for (const path of [at('v2'), `${at('v2')}/a`]) {
      asked = [];
      const text = await textOf(pipeline.ask('GET', `${path}?includeObject=Object`, { headers: { accept } }));
      expect(text).toContain('robots.example/v2');
      expect(asked).toEqual([1]);
    }
  },
);

test('an event of a selection that is known only after the conversion names columns once', async () => {
  await make('a', 2);
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const selecting = `${at('v2')}?watch=true&timeoutSeconds=1&fieldSelector=limbs%3D3`;
  expect(await framesOf(selecting, accept)).toEqual(['']);
  await make('b', 3);
  await make('c', 3);
  const [first, second] = (await framesOf(selecting, accept)).map((line): unknown => JSON.parse(line));
  expect(first).toMatchObject({
    object: { columnDefinitions: expect.any(Array), rows: [{ cells: ['b', expect.anything()] }] },
  });
  expect(second).toMatchObject({ object: { columnDefinitions: null, rows: [{ cells: ['c', expect.anything()] }] } });
});

test('an object that cannot be converted fails the list and ends the watch, and is not left out', async () => {
  await make('a', 1);
  await make('b', 2);
  broken = 'b';
  expect(await pipeline.ask('GET', at('v2'))).toMatchObject({ status: 500 });
  expect(await pipeline.ask('GET', `${at('v2')}/a`)).toMatchObject({ status: 200 });
  expect(await pipeline.ask('GET', at('v1'))).toMatchObject({ status: 200 });
  const events = await framesOf(`${at('v2')}?watch=true&timeoutSeconds=1`);
  expect(events.map((line) => JSON.parse(line))).toMatchObject([
    { type: 'ERROR', object: { code: 500, message: 'conversion webhook failed for b' } },
  ]);
});
