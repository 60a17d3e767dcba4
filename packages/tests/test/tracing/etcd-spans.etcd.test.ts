/** etcd's own spans join our traces. */
import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { CleanupStack } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { sendRequest } from '../authentication/send-request.ts';
import { million, serveTraced, spansOf } from './traced-server.ts';
import { describeIf } from '../describe-if.ts';

/** Supported since etcd 3.5; 3.6 removed the prefix "experimental". */
const { stdout, stderr } = spawnSync(process.env['ETCD_BIN'] ?? 'etcd', ['--help'], { encoding: 'utf8' });
const [, experimental] = /--(experimental-|)enable-distributed-tracing\b/.exec(`${stdout}${stderr}`) ?? [];
const canTrace = experimental !== undefined;

describeIf(canTrace, 'etcd', 'this etcd has no tracing', () => {
  test('adds its span to the trace of a write', async () => {
    const cleanup = new CleanupStack();
    try {
      const receiver = await startReceiver();
      cleanup.defer('receiver', () => receiver.stop());
      const flag = `--${experimental}distributed-tracing`;
      const etcd = await startEtcd({
        flags: [`--${experimental}enable-distributed-tracing`, `${flag}-address=${receiver.address}`],
      });
      cleanup.defer('etcd', () => etcd.stop());
      const server = await serveTraced({ endpoint: receiver.address, samplingRatePerMillion: million }, { etcd });
      cleanup.defer('server', () => server.close());
      const request = {
        method: 'POST',
        path: '/api/v1/namespaces/default/serviceaccounts',
        headers: { 'audit-id': 'with-etcd' },
        body: '{"metadata":{"name":"a"}}',
      };
      expect((await sendRequest(server, server.token, request)).status).toBe(201);
      const own = (await spansOf(receiver, 'with-etcd')).find(({ name }) => name === 'etcd create');
      const span = await until('the span of etcd', () =>
        receiver.spans.find(({ parentSpanId }) => parentSpanId === own?.spanId),
      );
      expect(span).toMatchObject({ traceId: own?.traceId, kind: 'server', name: 'etcdserverpb.KV/Txn' });
      expect(span.resource['service.name']).toBe('etcd');
    } finally {
      await cleanup.close();
    }
  });
});
