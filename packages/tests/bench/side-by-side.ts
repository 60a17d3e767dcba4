/**
 * Two checkouts under the same load at the same time: what a request costs each of them, in processor time. On a
 * machine with other guests no other comparison of two versions means much. Needs 2 cores, wrk and the bench kit beside
 * the checkout:
 * `taskset -c 1 node --conditions=source packages/tests/bench/side-by-side.ts OTHER-CHECKOUT WORKLOAD,WORKLOAD [FLAG ...]`
 * Flags are for the server of this checkout, but for `--policies=COUNT` and `--policies=COUNT:matching`: so many
 * ValidatingAdmissionPolicies are in force there, of which none matches, or the last one. OTHER-CHECKOUT may be this one. The servers share core 0; load and etcd have that of the command.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePorts, startEtcd } from '../../storage/test/real-etcd.ts';
import { until } from '../../base/test/until.ts';
import { http1Client } from '../test/fault/client.ts';

const pairs = 5;
const seconds = 4;
const connections = 16;
const serverCore = '0';
const microsecondsPerTick = 10_000;
const token = 't';

const [other = '', workloads = '', ...rest] = process.argv.slice(2);
const policiesFlag = '--policies=';
const flags = rest.filter((flag) => !flag.startsWith(policiesFlag));
const [policies = '0', matching] = (rest.find((flag) => flag.startsWith(policiesFlag)) ?? '')
  .slice(policiesFlag.length)
  .split(':');
const here = path.resolve(import.meta.dirname, '..', '..', '..');
const kit = path.resolve(here, '..', 'shared', 'bench');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'side-by-side-'));
const run = promisify(execFile);

interface Side {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<unknown>;
}

const etcd = await startEtcd();
const sides = [await start(other, 'theirs', []), await start(here, 'ours', flags)];
try {
  for (const workload of workloads.split(',')) {
    for (let pair = 0; pair < pairs; pair++) {
      const [theirs = 0, ours = 0] = await Promise.all(sides.map((side) => costOf(side, workload)));
      const ratio = (ours / theirs).toFixed(3);
      console.log(`${workload}: theirs ${theirs.toFixed(1)} us, ours ${ours.toFixed(1)} us, ours by theirs ${ratio}`);
    }
  }
} finally {
  await Promise.all(sides.map((side) => side.stop()));
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

/** A server with its own prefix in the store, filled by the kit. */
async function start(checkout: string, name: string, more: readonly string[]): Promise<Side> {
  const [port] = await freePorts(1);
  const tokens = path.join(home, 'tokens');
  fs.writeFileSync(tokens, `${token},admin,,"system:masters"\n`);
  const certificates = path.join(home, name);
  const main = path.join(checkout, 'packages', 'server', 'src', 'main.ts');
  // Started as the first line of the program says, by the same Node.
  const [firstLine = ''] = fs.readFileSync(main, 'utf8').split('\n', 1);
  const node = ['-S', firstLine.replace(/^#!\S+ (-S )?/, ''), '--conditions=source', main];
  const env = { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` };
  const served = [`--secure-port=${port}`, '--bind-address=127.0.0.1', `--cert-dir=${certificates}`];
  const stored = [`--etcd-servers=${etcd.endpoints.join()}`, `--etcd-prefix=/${name}`];
  const others = [`--token-auth-file=${tokens}`, '--controllers=-garbage-collector', ...more];
  const server = spawn('env', [...node, ...served, ...stored, ...others], { stdio: 'ignore', env });
  const pid = server.pid as number; // there is one unless spawning failed, and then nothing becomes ready
  const url = `https://127.0.0.1:${port}`;
  await until('the server', () => isReady(url, path.join(certificates, 'apiserver.crt')));
  const target = ['--server', url, '--token', token, '--pids', `${pid}`, '--no-pin'];
  await run(process.execPath, [path.join(kit, 'bench.mjs'), ...target, '--only', 'get-rv0', '--seconds', '1']);
  if (name === 'ours') await enforcePolicies(url, path.join(certificates, 'apiserver.crt'));
  execFileSync('taskset', ['-acp', serverCore, `${pid}`]);
  return {
    url,
    pid,
    stop: () => {
      const exited = once(server, 'exit');
      server.kill();
      return exited;
    },
  };
}

/** They look at what they match: a label, a name and the user. */
async function enforcePolicies(url: string, certificate: string): Promise<void> {
  const client = http1Client(url, { ca: fs.readFileSync(certificate), token });
  const post = async (plural: string, body: object): Promise<void> => {
    const { status } = await client.request('POST', `/apis/admissionregistration.k8s.io/v1/${plural}`, { body });
    if (status !== 201) throw new Error(`${plural}: ${status}`);
  };
  for (let index = 1; index <= Number(policies); index++) {
    const isMatching = matching !== undefined && index === Number(policies);
    const resources = isMatching ? ['serviceaccounts', 'events'] : ['namespaces'];
    const metadata = { name: `policy-${index}` };
    const rule = { apiGroups: ['', 'events.k8s.io'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources };
    const validations = [
      { expression: "!has(object.metadata.labels) || object.metadata.labels.all(key, key != 'forbidden')" },
      { expression: "object.metadata.name.size() < 100 || request.userInfo.username == 'nobody'" },
    ];
    await post('validatingadmissionpolicies', {
      metadata,
      spec: { matchConstraints: { resourceRules: [rule] }, validations },
    });
    const spec = { policyName: metadata.name, validationActions: ['Deny'] };
    await post('validatingadmissionpolicybindings', { metadata, spec });
  }
  client.close();
}

async function isReady(url: string, certificate: string): Promise<true | undefined> {
  if (!fs.existsSync(certificate)) return undefined;
  const client = http1Client(url, { ca: fs.readFileSync(certificate), token });
  const answer = await client.request('GET', '/readyz').catch(() => undefined);
  client.close();
  return answer?.status === 200 ? true : undefined;
}

/** Microseconds of processor time for each request. */
async function costOf({ url, pid }: Side, workload: string): Promise<number> {
  const before = usedTicks(pid);
  const load = ['-t1', `-c${connections}`, `-d${seconds}`, '-s', path.join(kit, 'wrk.lua'), url, '--', token, workload];
  const { stdout } = await run('wrk', load);
  const perSecond = Number(/RESULT (\S+)/.exec(stdout)?.[1]);
  return ((usedTicks(pid) - before) * microsecondsPerTick) / (perSecond * seconds);
}

/** In user and kernel mode: fields 14 and 15, of which the name before them may hold anything but the last parenthesis. */
function usedTicks(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, kernel] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return Number(user) + Number(kernel);
}
