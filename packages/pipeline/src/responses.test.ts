import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { encodeProtobuf, parseProtobuf } from '@cluster-apiserver/model/codec';
import { partialMetadataListSchema, partialMetadataSchema } from '@cluster-apiserver/model/kind';
import { deleteOptions, type ObjectSchema, statusSchema } from '@cluster-apiserver/model/schema';
import { robotKind } from '../test/robots.ts';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

describe('responses', () => {
  test('one object in every format', async () => {
    await make('a', { arms: 2 });
    const plain = await ask('GET', `${robots}/a`);
    expect(
      plain.text.startsWith('{"kind":"Robot","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"'),
    ).toBe(true);
    expect(plain.text.endsWith('}\n')).toBe(true);
    expect(JSON.parse((await ask('GET', `${robots}/a?pretty=true`)).text)).toEqual(JSON.parse(plain.text));
    const yaml = await ask('GET', `${robots}/a`, { headers: { accept: 'application/yaml' } });
    expect(yaml.headers['content-type']).toBe('application/yaml');
    expect(yaml.text).toContain('\narms: 2\n');
    expect((await ask('GET', `${robots}/a`, { headers: { accept: 'image/png' } })).status).toBe(406);
  });

  test('a list of several event loop iterations is complete as a table and as partial metadata', async () => {
    const names = Array.from({ length: 450 }, (_, n) => `r${1000 + n}`);
    for (const name of names) await make(name, { words: { x: 'ü' } });
    const accepting = (form: string) =>
      ask('GET', robots, { headers: { accept: `application/json;as=${form};v=v1;g=meta.k8s.io` } });
    const table = JSON.parse((await accepting('Table')).text);
    expect(table.columnDefinitions.length).toBe(2);
    expect(table.rows.map(({ cells }: { cells: string[] }) => cells[0])).toEqual(names);
    const list = (await accepting('PartialObjectMetadataList')).json();
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(list.items[0]).not.toHaveProperty('words');
  });

  describe('as protobuf', () => {
    const type = 'application/vnd.kubernetes.protobuf';
    const { schema, listSchema } = robotKind;
    const robot = (metadata: object, apiVersion = 'v1') => ({ kind: 'Robot', apiVersion, metadata, arms: 2 });
    const send = (method: string, target: string, body: Buffer) =>
      ask(method, target, { body, headers: { accept: `${type},application/json`, 'content-type': type } });
    const post = (body: Buffer) => send('POST', robots, body);
    const read = ({ bytes = Buffer.alloc(0) }: { readonly bytes: Buffer | undefined }, form: ObjectSchema = schema) =>
      parseProtobuf(bytes, () => form).value;

    test('an object is created, read and deleted', async () => {
      const created = await post(encodeProtobuf(schema, robot({ name: 'a' })));
      expect([created.status, created.headers['content-type']]).toEqual([201, type]);
      const json = (await ask('GET', `${robots}/a`)).json();
      expect(read(created)).toEqual(json);
      expect(read(await ask('GET', `${robots}/a`, { headers: { accept: type } }))).toEqual(json);
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'other' } };
      const refused = await send('DELETE', `${robots}/a`, encodeProtobuf(deleteOptions, options));
      expect([refused.status, refused.headers['content-type']]).toEqual([409, type]);
      expect(read(refused, statusSchema)).toMatchObject({
        kind: 'Status',
        apiVersion: 'v1',
        reason: 'Conflict',
        code: 409,
      });
      expect(
        (await send('DELETE', `${robots}/a`, encodeProtobuf(deleteOptions, { kind: '', apiVersion: '' }))).status,
      ).toBe(200);
    });

    test('a list of several event loop iterations is complete', async () => {
      for (let n = 1000; n < 1300; n++) await make(`r${n}`, { words: { x: 'ü' } });
      const { items, metadata } = (await ask('GET', `${robots}?limit=250`)).json();
      const list = read(await ask('GET', `${robots}?limit=250`, { headers: { accept: type } }), listSchema);
      expect(list).toEqual({ kind: 'RobotList', apiVersion: 'v1', metadata, items });
    });

    test('partial metadata is available', async () => {
      await make('a', { arms: 2 });
      const accept = (form: string) => ({ headers: { accept: `${type};as=${form};g=meta.k8s.io;v=v1` } });
      const { metadata } = (await ask('GET', `${robots}/a`)).json();
      const one = read(await ask('GET', `${robots}/a`, accept('PartialObjectMetadata')), partialMetadataSchema);
      expect(one).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
      const many = await ask('GET', robots, accept('PartialObjectMetadataList'));
      expect(read(many, partialMetadataListSchema)).toMatchObject({ items: [{ metadata }] });
    });

    test.each<[string, Buffer]>([
      ['another version', encodeProtobuf(schema, robot({ name: 'a' }, 'v2'))],
      ['what is cut off', encodeProtobuf(schema, robot({ name: 'a' })).subarray(0, -3)],
      ['JSON', Buffer.from('{}')],
      ['nothing', Buffer.alloc(0)],
    ])('%s is refused', async (_, body) => {
      const refused = await post(body);
      expect([refused.status, pipeline.reportedErrors]).toEqual([400, []]);
    });

    test('a kind without protobuf refuses it', async () => {
      const notes = '/apis/notes.example/v1/namespaces/n/notes';
      const sent = await ask('POST', notes, { body: Buffer.alloc(4), headers: { 'content-type': type } });
      expect(sent.json()).toMatchObject({ code: 415, message: expect.not.stringContaining(type) });
      expect((await ask('GET', notes, { headers: { accept: type } })).status).toBe(406);
    });
  });

  test('the deletion of a collection is answered with what was deleted, or counted, as the kind declares', async () => {
    const notes = '/apis/notes.example/v1/namespaces/n/notes';
    await ask('POST', notes, { body: JSON.stringify({ metadata: { name: 'a' } }) });
    expect((await ask('DELETE', notes)).json()).toMatchObject({
      kind: 'NoteList',
      items: [{ metadata: { name: 'a' } }],
    });
    await make('a');
    expect((await ask('DELETE', robots)).json()).toMatchObject({ kind: 'Status', status: 'Success' });
  });

  test('a Status is never transformed', async () => {
    await make('a');
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    expect((await ask('DELETE', robots, { headers: { accept } })).json()).toMatchObject({ kind: 'Status' });
    const missing = await ask('GET', `${robots}/a`, { headers: { accept } });
    expect([missing.status, missing.json()]).toMatchObject([404, { kind: 'Status', reason: 'NotFound' }]);
  });

  test('an unsupported response format is refused before the write', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const refused = await ask('POST', `${robots}?includeObject=All`, {
      headers: { accept },
      body: JSON.stringify({ metadata: { name: 'a' } }),
    });
    expect(refused.status).toBe(400);
    expect((await ask('GET', `${robots}/a`)).status).toBe(404);
  });

  test.each([
    ['gzip', 1, true],
    ['deflate, gzip;q=0.5', 1, true],
    ['gzip', 0, false],
    ['gzip;q=0', 1, false],
    ['deflate', 1, false],
    ['', 1, false],
  ])(
    'with Accept-Encoding %j and %d large objects, whether the list comes compressed is %s',
    async (accepted, large, compressed) => {
      for (let n = 0; n < large; n++) await make(`a${n}`, { words: { x: 'ü'.repeat(80_000) } });
      const plain = await ask('GET', robots);
      const answer = await ask('GET', robots, { headers: { 'accept-encoding': accepted } });
      expect(answer.headers['content-encoding']).toBe(compressed ? 'gzip' : undefined);
      const bytes = answer.bytes as Buffer;
      expect((compressed ? gunzipSync(bytes) : bytes).toString()).toBe(plain.text);
    },
  );

  test.each(['GET', 'DELETE'])('%s of a collection ends at its timeoutSeconds', async (method) => {
    pipeline.isStorageSilent = true;
    const late = await ask(method, `${robots}?timeoutSeconds=1`);
    expect(late.status).toBe(504);
    expect(late.json().reason).toBe('Timeout');
  });

  test('the items of a list omit kind and version', async () => {
    expect((await ask('GET', robots)).text).toMatch(
      /^\{"kind":"RobotList","apiVersion":"v1","metadata":\{"resourceVersion":"\d+"\},"items":\[\]\}\n$/,
    );
    await make('a');
    await make('b', { arms: 1 });
    const { items } = (await ask('GET', '/api/v1/robots')).json();
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(Object.keys(items[0] as object)).toEqual(['metadata']);
  });
});
