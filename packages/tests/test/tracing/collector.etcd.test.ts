/** The real OpenTelemetry Collector, built by packages/toolchain/collector.mjs, accepts our traces. */
import { expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { until } from '@cluster-apiserver/testkit/until';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { million, serveTraced } from './traced-server.ts';
import { describeIf } from '../describe-if.ts';

const built = path.resolve(import.meta.dirname, '../../../../.cache/otel-collector/otel-collector');
const program = process.env['OTEL_COLLECTOR_BIN'] ?? built;
const isThere = fs.existsSync(program);

/** The collector's output: OTLP as JSON, one batch per line. */
interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly attributes?: readonly Attribute[];
        readonly parentSpanId: string;
      }[];
    }[];
  }[];
}
interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

describeIf(
  isThere,
  'The OpenTelemetry Collector',
  'there is no OpenTelemetry Collector in .cache or OTEL_COLLECTOR_BIN',
  () => {
    test('receives the trace of a request', async () => {
      const cleanup = new CleanupStack();
      const home = fs.mkdtempSync(path.join(os.tmpdir(), 'collector-'));
      cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
      try {
        const file = path.join(home, 'traces.json');
        const [port] = await freePorts(1);
        const endpoint = `127.0.0.1:${port}`;
        cleanup.defer('collector', await startCollector(endpoint, file));
        const etcd = await startEtcd();
        cleanup.defer('etcd', () => etcd.stop());
        const server = await serveTraced({ endpoint, samplingRatePerMillion: million }, { etcd });
        cleanup.defer('server', () => server.close());
        expect((await server.request('GET', '/api/v1/namespaces/default/serviceaccounts')).status).toBe(200);
        const { resource, scopeSpans } = await until('the trace', () => batchWithList(file));
        const spans = scopeSpans.flatMap((one) => one.spans);
        const service = resource.attributes.find(({ key }) => key === 'service.name');
        expect(service?.value.stringValue).toBe('apiserver');
        expect(spans.map(({ name }) => name)).toEqual(
          expect.arrayContaining(['authentication', 'authorization', 'read barrier', 'etcd head', 'encode list', list]),
        );
      } finally {
        await cleanup.close();
      }
    });
  },
);

const list = 'GET /api/v1/namespaces/{:namespace}/serviceaccounts';

function batchWithList(file: string): Batch['resourceSpans'][number] | undefined {
  const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : [];
  return lines
    .slice(0, -1) // the last line may be incomplete
    .flatMap((line) => (JSON.parse(line) as Batch).resourceSpans)
    .find(({ scopeSpans }) => scopeSpans.some(({ spans }) => spans.some(({ name }) => name === list)));
}

/** Returns a function that stops the collector, once it listens. */
async function startCollector(endpoint: string, file: string): Promise<() => Promise<void>> {
  const configuration = {
    receivers: { otlp: { protocols: { grpc: { endpoint } } } },
    exporters: { file: { path: file } },
    service: {
      pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
      telemetry: { metrics: { level: 'none' } },
    },
  };
  const collector: ChildProcess = spawn(program, ['--config', `yaml:${JSON.stringify(configuration)}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  collector.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    output += piece;
  });
  await until('the collector', () => {
    if (collector.exitCode !== null) throw new Error(output);
    return output.includes('Everything is ready') || undefined;
  });
  return () => endProcess(collector);
}
