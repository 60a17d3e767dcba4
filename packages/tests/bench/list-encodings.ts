/**
 * Measures lists in each encoding, and how long other requests wait meanwhile:
 * `node --conditions=source packages/tests/bench/list-encodings.ts https://127.0.0.1:6443 TOKEN CA-FILE [OBJECTS]`
 * Fills the namespace `list-forms` with events first.
 */
import fs from 'node:fs';
import https from 'node:https';
import { type HttpsOptions, openHttps } from '@cluster-apiserver/testkit/https-request';

const [server = '', token = '', authority = '', objects = '10000'] = process.argv.slice(2);
const count = Number(objects);
const rounds = 7;
const writers = 32;
const path = (group: string): string => `/${group}/namespaces/list-forms/events`;
const meta = 'g=meta.k8s.io;v=v1';

const forms: Readonly<Record<string, { readonly accept: string; readonly group?: string; readonly gzip?: true }>> = {
  JSON: { accept: 'application/json' },
  'JSON, gzip': { accept: 'application/json', gzip: true },
  Table: { accept: `application/json;as=Table;${meta}` },
  PartialObjectMetadataList: { accept: `application/json;as=PartialObjectMetadataList;${meta}` },
  protobuf: { accept: 'application/vnd.kubernetes.protobuf' },
  'indented JSON': { accept: 'application/json;pretty=1' },
  YAML: { accept: 'application/yaml' },
  'events.k8s.io/v1 as JSON': { accept: 'application/json', group: 'apis/events.k8s.io/v1' },
};

const ca = fs.readFileSync(authority);
const agent = new https.Agent({ ca, keepAlive: true });
const prober = new https.Agent({ ca, keepAlive: true });

/** Returns the length of the response. */
async function request(target: string, options: HttpsOptions): Promise<number> {
  const response = await openHttps(`${server}${target}`, { agent, token, ...options });
  let bytes = 0;
  for await (const piece of response) bytes += (piece as Buffer).length;
  if ((response.statusCode ?? 0) >= 300 && response.statusCode !== 409)
    throw new Error(`${target}: ${response.statusCode}`);
  return bytes;
}

async function fill(): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      const name = `e-${next++}`;
      const involvedObject = {
        kind: 'Pod',
        namespace: 'list-forms',
        name: `pod-${name}`,
        uid: `uid-${name}`,
        apiVersion: 'v1',
      };
      const times = { firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z', count: 1 };
      const event = {
        ...{
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name, labels: { app: 'bench', run: name } },
          involvedObject,
          ...times,
        },
        ...{ reason: 'Scheduled', type: 'Normal', source: { component: 'scheduler' } },
        message: `Successfully assigned list-forms/pod-${name} to a node that has room for it`,
      };
      await request(path('api/v1'), { method: 'POST', body: event });
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
}

/** The longest latency of sequential requests during `over`. */
async function longestWait(over: Promise<unknown>): Promise<number> {
  let ended = false;
  void over.then(() => (ended = true));
  let longest = 0;
  while (!ended) {
    const beganMs = performance.now();
    await request('/livez', { agent: prober });
    longest = Math.max(longest, performance.now() - beganMs);
  }
  return longest;
}

const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;

await fill();
console.log('| form | bytes | ms | others wait ms |\n|---|---|---|---|');
for (const [name, { accept, group = 'api/v1', gzip }] of Object.entries(forms)) {
  const headers = { accept, ...(gzip && { 'accept-encoding': 'gzip' }) };
  const times: number[] = [];
  const waits: number[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round++) {
    const beganMs = performance.now();
    const listed = request(path(group), { headers }).then((length) => {
      bytes = length;
      times.push(performance.now() - beganMs);
    });
    waits.push(await longestWait(listed));
    await listed;
  }
  console.log(
    `| ${name} | ${bytes.toLocaleString('en')} | ${median(times).toFixed(0)} | ${median(waits).toFixed(0)} |`,
  );
}
process.exit();
