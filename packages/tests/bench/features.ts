/**
 * Measures what features cost a request: a server with the feature and one without it have the load in turns of a second
 * (see compared-servers.ts). What authorization costs is measured by authorizers.ts.
 *
 *   taskset -c 1 node --conditions=source packages/tests/bench/features.ts [REGEX of features] [--save]
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { createEncryptionConfiguration } from '@cluster-apiserver/testkit/encryption-configuration';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { type BenchServer, compareTurns, startBenchServer, thisCheckout } from './compared-servers.ts';
import { enforcePolicies } from './policies.ts';
import { args, saveFeature } from './save-measured.ts';

interface Feature {
  readonly name: string;
  readonly workload: string;
  readonly flags?: readonly string[];
  readonly prepare?: (server: BenchServer) => Promise<void>;
}

const cleanup = new CleanupStack();
try {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'features-'));
  cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  const receiver = await startReceiver();
  cleanup.defer('receiver of spans', () => receiver.stop());
  const plugin = await startPlugin(path.join(home, 'kms.sock'));
  cleanup.defer('KMS plugin', () => plugin.stop());
  const chosen = new RegExp(args[0] ?? '');
  for (const feature of createFeatures(home, receiver.address, plugin.socket)) {
    if (chosen.test(feature.name)) await measure(feature, home, etcd.endpoints);
  }
} finally {
  await cleanup.close();
}

/** Both servers are new: a server gets faster with the requests that it has served. */
async function measure({ name, workload, flags = [], prepare }: Feature, home: string, endpoints: readonly string[]) {
  const common = { endpoints, home, checkout: thisCheckout };
  // The name is also its prefix in etcd.
  const key = name.replaceAll(/\W+/g, '-');
  const without = await startBenchServer({ ...common, name: `without-${key}` });
  const server = await startBenchServer({ ...common, name: `with-${key}`, flags });
  try {
    await prepare?.(server);
    console.log(`\n${name}`);
    saveFeature(name, await compareTurns(workload, [{ server: without }, { server }]));
  } finally {
    await Promise.all([without.stop(), server.stop()]);
  }
}

function createFeatures(home: string, collector: string, kmsSocket: string): readonly Feature[] {
  const write = (name: string, content: object | string): string => {
    const file = path.join(home, name);
    fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return file;
  };
  const trace = (name: string, fields: object): string => {
    const typed = { apiVersion: 'apiserver.config.platform.io/v1', kind: 'TracingConfiguration' };
    return `--tracing-config-file=${write(`${name}.json`, { ...typed, endpoint: collector, ...fields })}`;
  };
  const rules = [{ level: 'Metadata', omitStages: ['RequestReceived'] }];
  const policy = write('audit-policy.json', { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules });
  const audit = (mode: string): readonly string[] => [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${path.join(home, `${mode}.log`)}`,
    `--audit-log-mode=${mode}`,
  ];
  const encrypt = (name: string, provider: object): readonly string[] => {
    const others = [{ resources: ['serviceaccounts'], providers: [provider] }];
    return [`--encryption-provider-config=${write(`${name}.json`, createEncryptionConfiguration(others))}`];
  };
  const keys = [{ name: 'a', secret: Buffer.alloc(32, 'bench').toString('base64') }];
  const kms = { apiVersion: 'v2', name: 'bench', endpoint: `unix://${kmsSocket}` };
  return [
    {
      name: 'one admission policy that matches',
      workload: 'create-sa',
      prepare: (server) => enforcePolicies(server, '1:matching'),
    },
    { name: 'tracing without sampling', workload: 'get-quorum', flags: [trace('parents', {})] },
    {
      name: 'tracing of every request, five spans each',
      workload: 'get-quorum',
      flags: [trace('all', { samplingRatePerMillion: 1_000_000 })],
    },
    { name: 'request lines (`--v=2`)', workload: 'get-quorum', flags: ['--v=2'] },
    { name: 'audit log, Metadata, mode `batch`', workload: 'get-quorum', flags: audit('batch') },
    { name: 'audit log, Metadata, mode `blocking`', workload: 'get-quorum', flags: audit('blocking') },
    { name: 'encryption with `aesgcm`', workload: 'create-sa', flags: encrypt('aesgcm', { aesgcm: { keys } }) },
    {
      name: 'encryption with `secretbox`',
      workload: 'create-sa',
      flags: encrypt('secretbox', { secretbox: { keys } }),
    },
    { name: 'encryption with `kms` v2', workload: 'create-sa', flags: encrypt('kms', { kms }) },
  ];
}
