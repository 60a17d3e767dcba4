/** The state of the server process, from the kernel and its own metrics. */
import fs from 'node:fs';
import path from 'node:path';
import { type HttpsResponse, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { until } from '@cluster-apiserver/testkit/until';
import type { Pids, Running } from '@cluster-apiserver/testkit/cluster';

export interface ProcessState {
  readonly residentMiB: number;
  readonly descriptors: number;
}

/** Files of a cluster that the toolchain started. */
export interface ClusterFiles {
  readonly ca: string;
  readonly token: string;
  /** Certificate and key of the replicas. */
  readonly serving: { readonly certificate: string; readonly key: string };
  replica(): Running;
  replicas(): readonly Running[];
  etcd(): readonly Running[];
  log(): string;
}

export const clusterFiles = (home: string): ClusterFiles => ({
  ca: path.join(home, 'ca.crt'),
  token: path.join(home, 'admin.token'),
  serving: { certificate: path.join(home, 'pki', 'server.crt'), key: path.join(home, 'pki', 'server.key') },
  replica: () => {
    const [replica] = pidsIn(home).replicas;
    if (!replica) throw new Error('the cluster has no replica');
    return replica;
  },
  replicas: () => pidsIn(home).replicas,
  etcd: () => pidsIn(home).etcd,
  log: () => fs.readFileSync(path.join(home, 'logs', 'replica-1.log'), 'utf8'),
});

/** Written by the launcher. */
const pidsIn = (home: string): Pids => JSON.parse(fs.readFileSync(path.join(home, 'pids.json'), 'utf8')) as Pids;

/** Returns undefined if the process has ended. */
export function readProcessState(pid: number): ProcessState | undefined {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    const resident = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
    if (resident === undefined) return undefined; // a zombie process
    return {
      residentMiB: Number(resident) / 1_024,
      descriptors: fs.readdirSync(`/proc/${pid}/fd`).length,
    };
  } catch {
    return undefined; // the process does not exist
  }
}

/** One request on a new connection; undefined without a response in time. */
const probe = ({ ca, token, replica }: ClusterFiles, target: string): Promise<HttpsResponse | undefined> =>
  requestHttps(`${replica().url}${target}`, {
    ca: fs.readFileSync(ca),
    token: fs.readFileSync(token, 'utf8').trim(),
    signal: AbortSignal.timeout(probeTimeoutMs),
  }).catch(() => undefined); // the caller retries or reports the failure

/** A list of all objects takes seconds on a busy machine. */
const probeTimeoutMs = 30_000;
/** The launcher restarts a process within ten seconds, and it then loads all objects. */
const readyMs = 120_000;

export const waitUntilReady = (files: ClusterFiles): Promise<true> =>
  until('the replica', async () => (await probe(files, '/readyz'))?.status === 200 || undefined, readyMs);

/** prom-client's sampling interval, included in each sample. */
const lagSamplingMs = 10;

/** The longest event loop delay since the previous call: reading the metric resets it. */
export async function longestEventLoopDelayMs(files: ClusterFiles): Promise<number | undefined> {
  const metrics = (await probe(files, '/metrics'))?.text ?? '';
  const lag = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1];
  return lag === undefined ? undefined : Math.max(0, Number(lag) * 1_000 - lagSamplingMs);
}

/** Gets of service accounts that took longer than 50 and 100 ms inside the server, since its start. */
export async function countSlowGets(
  files: ClusterFiles,
): Promise<{ readonly over50Ms: number; readonly over100Ms: number } | undefined> {
  const metrics = (await probe(files, '/metrics'))?.text ?? '';
  const lines = metrics.split('\n').filter((line) => isGetDuration.test(line));
  if (lines.length === 0) return undefined;
  const valueOf = (le: string): number =>
    Number(
      lines
        .find((line) => line.includes(`le="${le}"`))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  const all = valueOf('+Inf');
  return { over50Ms: all - valueOf('0.05'), over100Ms: all - valueOf('0.1') };
}

const isGetDuration =
  /^apiserver_request_sli_duration_seconds_bucket\{(?=.*verb="GET")(?=.*resource="serviceaccounts")/;
