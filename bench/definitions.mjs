#!/usr/bin/env node
// Measures what many custom resource definitions cost a running server: time until all are served, memory, documents,
// one object of each, deletion. Works against any server with apiextensions.k8s.io/v1; see README.md.
//
//   node definitions.mjs --server URL --token T --pid PID [--count 1000] [--jobs 8] [--keep] [--json FILE]
import fs from 'node:fs';
import https from 'node:https';
import { parseArgs } from 'node:util';

const { values: opt } = parseArgs({
  options: {
    server: { type: 'string' },
    token: { type: 'string' },
    pid: { type: 'string' },
    count: { type: 'string', default: '1000' },
    jobs: { type: 'string', default: '8' },
    keep: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
if (!opt.server || !opt.pid) {
  console.log(
    'usage: definitions.mjs --server URL --token T --pid PID [--count 1000] [--jobs 8] [--keep] [--json FILE]',
  );
  process.exit(2);
}
const count = Number(opt.count);
const agent = new https.Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });
const u = new URL(opt.server);
const call = (method, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const r = https.request(
      {
        agent,
        host: u.hostname,
        port: u.port,
        method,
        path,
        headers: { authorization: `Bearer ${opt.token}`, 'content-type': 'application/json', ...headers },
      },
      (m) => {
        let bytes = 0;
        const parts = [];
        m.on('data', (d) => {
          bytes += d.length;
          if (bytes < 200_000) parts.push(d);
        });
        m.on('end', () => resolve({ status: m.statusCode, bytes, body: Buffer.concat(parts).toString() }));
      },
    );
    r.on('error', reject);
    r.end(body && JSON.stringify(body));
  });
const rssMiB = () =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${opt.pid}/status`, 'utf8'))[1]) / 1024);
const cpuSeconds = () => {
  const f = fs.readFileSync(`/proc/${opt.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(f[11]) + Number(f[12])) / 100;
};
const each = async (work) => {
  let next = 0;
  await Promise.all(
    Array.from({ length: Number(opt.jobs) }, async () => {
      while (next < count) await work(next++);
    }),
  );
};
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

const group = (i) => `g${i % 50}.bench.example.com`;
const definition = (i) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things${i}.${group(i)}` },
  spec: {
    group: group(i),
    scope: 'Namespaced',
    names: { plural: `things${i}`, singular: `thing${i}`, kind: `Thing${i}`, categories: ['bench'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A thing of the bench, as an operator would define it.',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                description: 'What is wanted.',
                properties: {
                  size: { type: 'integer', minimum: 1, maximum: 1000, description: 'How large it is.' },
                  mode: { type: 'string', enum: ['fast', 'slow'], default: 'fast' },
                  name: { type: 'string', maxLength: 63, pattern: '^[a-z]+$' },
                  labels: { type: 'object', additionalProperties: { type: 'string' } },
                  ports: {
                    type: 'array',
                    maxItems: 32,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['port'],
                    items: {
                      type: 'object',
                      required: ['port'],
                      properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
                    },
                  },
                  template: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  target: { 'x-kubernetes-int-or-string': true },
                },
                'x-kubernetes-validations': [
                  { rule: 'self.mode != "slow" || self.size <= 10', message: 'slow things are small' },
                ],
              },
              status: {
                type: 'object',
                properties: {
                  observedGeneration: { type: 'integer', format: 'int64' },
                  conditions: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                    items: {
                      type: 'object',
                      required: ['type', 'status'],
                      properties: {
                        type: { type: 'string' },
                        status: { type: 'string' },
                        reason: { type: 'string' },
                        message: { type: 'string' },
                        lastTransitionTime: { type: 'string', format: 'date-time' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
});
const out = { count, server: opt.server, rssBeforeMiB: rssMiB() };
const cpu0 = cpuSeconds();
const timed = async (name, work) => {
  const t = performance.now();
  const r = await work();
  out[name] = Number(((performance.now() - t) / 1000).toFixed(2));
  console.log(`${name.padEnd(28)} ${out[name]} s`);
  return r;
};
await timed('createSeconds', () =>
  each(async (i) => {
    const r = await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(i));
    if (r.status !== 201 && r.status !== 409)
      throw new Error(`definition ${i}: HTTP ${r.status} ${r.body.slice(0, 300)}`);
  }),
);
await timed('servedSeconds', () =>
  each(async (i) => {
    for (;;) {
      const r = await call('GET', `/apis/${group(i)}/v1/things${i}?limit=1`);
      if (r.status === 200) return;
      if (r.status !== 404) throw new Error(`list ${i}: HTTP ${r.status} ${r.body.slice(0, 200)}`);
      await sleep(50);
    }
  }),
);
out.cpuSecondsUntilServed = Number((cpuSeconds() - cpu0).toFixed(1));
out.rssServedMiB = rssMiB();
await timed('discoverySeconds', () =>
  call('GET', '/apis', undefined, {
    accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  }).then((r) => {
    out.discoveryBytes = r.bytes;
  }),
);
await timed('openapi3FirstSeconds', () =>
  call('GET', `/openapi/v3/apis/${group(0)}/v1`).then((r) => {
    out.openapi3Status = r.status;
    out.openapi3Bytes = r.bytes;
  }),
);
await timed('openapi2FirstSeconds', () =>
  call('GET', '/openapi/v2').then((r) => {
    out.openapi2Bytes = r.bytes;
  }),
);
await timed('openapi2SecondSeconds', () => call('GET', '/openapi/v2'));
await timed('objectsSeconds', () =>
  each(async (i) => {
    const r = await call('POST', `/apis/${group(i)}/v1/namespaces/default/things${i}`, {
      apiVersion: `${group(i)}/v1`,
      kind: `Thing${i}`,
      metadata: { name: 'one' },
      spec: { size: 3, ports: [{ port: 80 }], template: { a: { b: 1 } } },
    });
    if (r.status !== 201 && r.status !== 409) throw new Error(`object ${i}: HTTP ${r.status} ${r.body.slice(0, 300)}`);
  }),
);
await sleep(10_000);
out.rssSettledMiB = rssMiB();
out.cpuSecondsInAll = Number((cpuSeconds() - cpu0).toFixed(1));
if (!opt.keep) {
  await timed('deleteSeconds', () =>
    each(async (i) => {
      await call('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things${i}.${group(i)}`);
    }),
  );
  await timed('goneSeconds', async () => {
    for (;;) {
      const r = await call('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=1');
      if (!/"name":"things|"name": "things/.test(r.body)) return;
      await sleep(200);
    }
  });
  await sleep(5_000);
  out.rssAfterMiB = rssMiB();
}
console.log(JSON.stringify(out));
if (opt.json) fs.writeFileSync(opt.json, `${JSON.stringify(out, null, 1)}\n`);
