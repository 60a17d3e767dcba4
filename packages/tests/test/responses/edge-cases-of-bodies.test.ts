/** Edge cases of YAML and protobuf bodies, in which the server once responded differently from kube-apiserver. */
import { describe, expect, test } from '@jest/globals';
import { encodeProtobuf } from '@cluster-apiserver/model/codec';
import { deleteOptions } from '@cluster-apiserver/model/schema';
import { resourceOf } from './resources.ts';
import { patchTypes, useServer } from './use-server.ts';

const { send, create } = useServer();
const { apply } = patchTypes;

const options = { apiVersion: 'apps/v1', kind: 'DeleteOptions', dryRun: ['All'] };

test.each<[string, string | Buffer]>([
  ['application/yaml', 'apiVersion: apps/v1\nkind: DeleteOptions\ndryRun: [All]\n'],
  ['application/json', JSON.stringify(options)],
  ['application/vnd.kubernetes.protobuf', encodeProtobuf(deleteOptions, options)],
])('DeleteOptions in %s may have any version and apply', async (type, body) => {
  await create(resourceOf('ServiceAccount'));
  expect((await send('DELETE', `${resourceOf('ServiceAccount').path}/x`, body, type)).status).toBe(200);
  expect((await send('GET', `${resourceOf('ServiceAccount').path}/x`)).status).toBe(200);
});

test('empty managedFields clear them in YAML as in JSON', async () => {
  await create(resourceOf('ServiceAccount'), { labels: { a: 'b' } });
  const yaml = 'metadata:\n  name: x\n  labels: {a: b}\n  managedFields: []\n';
  const { status, body } = await send('PUT', `${resourceOf('ServiceAccount').path}/x`, yaml, 'application/yaml');
  expect([status, body.metadata.managedFields]).toEqual([200, undefined]);
});

describe('a body in YAML that is JSON, too', () => {
  const events = '/api/v1/namespaces/n/events';
  const event = (end: string): string =>
    `{"metadata":{"name":"x"},"involvedObject":{"namespace":"n","name":"a"},${end}}`;
  const duplicate = 'line 1: key "reason" already set in map';

  test('has the numbers of YAML', async () => {
    const { status, body } = await send('POST', events, event('"count":1e2'), 'application/yaml');
    expect([status, body['count']]).toEqual([201, 100]);
  });

  test('reports duplicate keys as YAML does', async () => {
    const text = event('"reason":"A","reason":"B"');
    const warned = await send('POST', events, text, 'application/yaml');
    expect([warned.status, warned.warnings, warned.body['reason']]).toEqual([
      201,
      [`299 - "${duplicate.replaceAll('"', '\\"')}"`],
      'B',
    ]);
    const strict = await send('POST', `${events}?fieldValidation=Strict`, text, 'application/yaml');
    expect([strict.status, strict.body.message]).toEqual([
      400,
      `Event in version "v1" cannot be handled as a Event: strict decoding error: yaml: unmarshal errors:\n  ${duplicate}`,
    ]);
  });

  test('reports duplicate keys of an applied configuration', async () => {
    const text = event('"apiVersion":"v1","kind":"Event","reason":"A","reason":"B"');
    const path = `${events}/x?fieldManager=m`;
    const strict = await send('PATCH', `${path}&fieldValidation=Strict`, text, apply);
    expect([strict.status, strict.body.message]).toEqual([
      400,
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicate}`,
    ]);
    const warned = await send('PATCH', path, text, apply);
    expect([warned.status, warned.warnings]).toEqual([201, [`299 - "${duplicate.replaceAll('"', '\\"')}"`]]);
  });
});
