import { describe, expect, test } from '@jest/globals';
import { parseProtobuf } from '@cluster-apiserver/model/codec';
import { machineVersion } from '../test/robots.ts';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

describe('through another version', () => {
  const machines = '/apis/machines.example/v2/namespaces/n/robots';
  const send = (method: string, target: string, body: object | string, type = 'application/json') =>
    ask(method, target, {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': type },
    });
  const build = (limbs: number) => send('POST', machines, { metadata: { name: 'a' }, limbs });

  test('objects are the same with other field names', async () => {
    const built = await build(2);
    expect(built.text).toMatch(/^{"kind":"Robot","apiVersion":"machines.example\/v2",.*"limbs":2}\n$/);
    const robot = (await ask('GET', `${robots}/a`)).json();
    expect(robot).toMatchObject({ apiVersion: 'v1', arms: 2 });
    const { apiVersion: _, limbs, ...same } = built.json() as Record<string, unknown>;
    expect({ ...same, apiVersion: 'v1', arms: limbs }).toEqual(robot);
    await make('b', { arms: 3 });
    const list = (await ask('GET', machines)).json();
    expect(list).toMatchObject({
      kind: 'RobotList',
      apiVersion: 'machines.example/v2',
      items: [{ limbs: 2 }, { limbs: 3 }],
    });
    expect(Object.keys(list.items[0] as object)).toEqual(['metadata', 'limbs']);
    expect((await ask('GET', `${machines}?fieldSelector=limbs%3D3`)).json().items.length).toBe(1);
    expect((await ask('GET', `${machines}?fieldSelector=arms%3D3`)).status).toBe(400);
  });

  test.each([
    ['application/json-patch+json', [{ op: 'replace', path: '/limbs', value: 4 }]],
    ['application/merge-patch+json', { limbs: 4 }],
    ['application/strategic-merge-patch+json', { limbs: 4 }],
    [
      'application/apply-patch+yaml',
      { kind: 'Robot', apiVersion: 'machines.example/v2', metadata: { name: 'a' }, limbs: 4 },
    ],
  ])('a patch of type %s uses the field names of the version', async (type, patch) => {
    await build(2);
    // Applying a field that another manager owns requires force.
    const force = type === 'application/apply-patch+yaml' ? '&force=true' : '';
    const patched = await send('PATCH', `${machines}/a?fieldManager=m${force}`, patch, type);
    expect([patched.status, patched.json()]).toMatchObject([200, { apiVersion: 'machines.example/v2', limbs: 4 }]);
    expect((await ask('GET', `${robots}/a`)).json()).toMatchObject({ apiVersion: 'v1', arms: 4 });
  });

  test('field names of the stored version are unknown fields of another one', async () => {
    await build(2);
    for (const [type, problem] of [
      ['application/merge-patch+json', 'unknown field "arms"'],
      ['application/apply-patch+yaml', '.arms: field not declared in schema'],
    ] as const) {
      const body = { kind: 'Robot', apiVersion: 'machines.example/v2', metadata: { name: 'a' }, arms: 5 };
      const strict = await send('PATCH', `${machines}/a?fieldManager=m&fieldValidation=Strict`, body, type);
      expect([strict.status, strict.json().message]).toEqual([400, expect.stringContaining(problem)]);
    }
    expect((await send('POST', machines, { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'b' } })).status).toBe(
      400,
    );
  });

  test('a version has its own validation, whose errors name the stored fields', async () => {
    expect((await build(-1)).json()).toMatchObject({
      code: 422,
      message: expect.stringMatching(/^Robot "a" is invalid: arms/),
    });
    await build(2);
    expect((await send('PUT', `${machines}/a`, { metadata: { name: 'a' }, limbs: 1 })).status).toBe(422);
    expect((await send('PUT', `${robots}/a`, { metadata: { name: 'a' }, arms: 1 })).status).toBe(200);
  });

  test('responses name the group of the request', async () => {
    const missing = await ask('GET', `${machines}/none`);
    expect(missing.json()).toMatchObject({
      message: 'robots.machines.example "none" not found',
      details: { group: 'machines.example' },
    });
    const all = await ask('DELETE', machines);
    expect(all.json()).toMatchObject({ details: { group: 'machines.example', kind: 'robots' } });
  });

  test('every format has the fields of the version', async () => {
    await build(2);
    const accept = (type: string) => ask('GET', `${machines}/a?includeObject=Object`, { headers: { accept: type } });
    const json = (await ask('GET', `${machines}/a`)).json();
    const protobuf = await accept('application/vnd.kubernetes.protobuf');
    expect(parseProtobuf(protobuf.bytes as Buffer, () => machineVersion.schema).value).toEqual(json);
    const table = JSON.parse((await accept('application/json;as=Table;v=v1;g=meta.k8s.io')).text);
    expect(table.rows[0].object).toEqual(json);
    expect((await accept('application/yaml')).text).toContain('limbs: 2');
  });

  test('a watch has the field names of the version', async () => {
    await make('a', { arms: 1 });
    const { stream } = await ask('GET', `${machines}?watch=true&timeoutSeconds=1`);
    const frames: Buffer[] = [];
    const signal = new AbortController().signal;
    await stream?.({
      write: (bytes) => void frames.push(bytes),
      backlogBytes: 0,
      drained: async () => {},
      signal,
      draining: signal,
    });
    expect(JSON.parse(Buffer.concat(frames).toString())).toMatchObject({
      type: 'ADDED',
      object: { apiVersion: 'machines.example/v2', limbs: 1 },
    });
  });
});
