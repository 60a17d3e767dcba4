/**
 * Compares the CPU time per request of one server with a feature switched on and off, in turns of a second.
 * `taskset -c 1 node --conditions=source packages/tests/bench/switched-features.ts FEATURE WORKLOAD`
 * FEATURE is `policies=COUNT` or `policies=COUNT:matching` (see policies.ts), or `audit=MODE`: a log of level Metadata
 * next to a policy that audits nothing.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { until } from '@cluster-apiserver/testkit/until';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type BenchServer, compareTurns, type Turn, startBenchServer, thisCheckout } from './compared-servers.ts';
import { deletePolicies, enforcePolicies } from './policies.ts';

const [feature = '', workload = ''] = process.argv.slice(2);
const [kind, setting = ''] = feature.split('=');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'switched-features-'));
const auditPolicy = path.join(home, 'audit-policy.json');
const etcd = await startEtcd();
try {
  if (kind === 'audit') writeAuditPolicy('None');
  const server = await startBenchServer({
    name: 'server',
    checkout: thisCheckout,
    endpoints: etcd.endpoints,
    home,
    flags: kind === 'audit' ? auditFlags() : [],
  });
  await compareTurns(workload, kind === 'audit' ? auditTurns(server) : policyTurns(server));
  await server.stop();
} finally {
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

function policyTurns(server: BenchServer): readonly [Turn, Turn] {
  return [
    { server, prepare: () => deletePolicies(server) },
    { server, prepare: () => enforcePolicies(server, setting) },
  ];
}

function auditFlags(): string[] {
  return [
    `--audit-policy-file=${auditPolicy}`,
    `--audit-log-path=${path.join(home, 'audit.log')}`,
    `--audit-log-mode=${setting}`,
  ];
}

function writeAuditPolicy(level: 'None' | 'Metadata'): void {
  const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level }] };
  fs.writeFileSync(`${auditPolicy}.new`, JSON.stringify(policy));
  fs.renameSync(`${auditPolicy}.new`, auditPolicy);
}

function auditTurns(server: BenchServer): readonly [Turn, Turn] {
  let reloads = 0;
  const reload = async (level: 'None' | 'Metadata'): Promise<void> => {
    // The policy in force at the start is not loaded again.
    if (reloads > 0 || level !== 'None') {
      writeAuditPolicy(level);
      reloads++;
    }
    await until('the audit policy to be reloaded', () => countReloads() >= reloads || undefined);
  };
  return [
    { server, prepare: () => reload('None') },
    { server, prepare: () => reload('Metadata') },
  ];
}

function countReloads(): number {
  const log = fs.readFileSync(path.join(home, 'server.log'), 'utf8');
  return log.split('\n').filter((line) => line.includes('configuration reloaded') && line.includes('audit')).length;
}
