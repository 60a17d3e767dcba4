/** Traces of real requests, as a receiver of OTLP over gRPC gets them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { type OtlpReceiver, startReceiver, treeOf } from '../../../telemetry/test/otlp-receiver.ts';
import { ask } from '../authentication/caller.ts';
import type { ServedKinds } from '../serve-kinds.ts';
import { million, serveTraced, traceOf } from './traced.ts';

let etcd: RealEtcd;
let receiver: OtlpReceiver;
let server: ServedKinds;
beforeAll(async () => {
  [etcd, receiver] = await Promise.all([startEtcd(), startReceiver()]);
  server = await serveTraced({ endpoint: receiver.address, samplingRatePerMillion: million }, { etcd });
});
afterAll(async () => {
  await server.close();
  await receiver.stop();
  await etcd.stop();
});

const accounts = '/api/v1/namespaces/team/serviceaccounts';

async function traced(method: string, path: string, body?: object): Promise<readonly string[]> {
  const auditId = `${method}-${receiver.spans.length}`;
  await ask(server, server.token, { method, path, ...(body && { body: JSON.stringify(body) }), headers: { 'audit-id': auditId } });
  return treeOf(await traceOf(receiver, auditId), ({ name }) => name);
}

describe('A trace shows', () => {
  test('a create', async () => {
    expect(await traced('POST', accounts, { metadata: { name: 'a' } })).toEqual([]);
  });
  test('a get', async () => {
    expect(await traced('GET', `${accounts}/a`)).toEqual([]);
  });
  test('a list', async () => {
    expect(await traced('GET', accounts)).toEqual([]);
  });
});
