// The workloads: what is measured of a server, and of the baseline beside it.
import path from 'node:path';
import { builtIn, custom } from './objects.mjs';
import { loadCore, runOn, serverCore } from './processes.mjs';

const file = (name) => path.join(import.meta.dirname, name);
const wrk = process.env.WRK_BIN ?? 'wrk';
const watchers = 500;
const writesPerSecond = 100;

/** Connections of each workload. Writes come last, because they change what reads find. */
const reads = { 'get-quorum': 32, 'get-rv0': 32, 'list-ns100': 32, 'list-label': 32, 'list-all': 4, 'list-page500': 8 };
const writes = { 'create-sa': 32, 'create-event': 32, 'patch-merge': 32, 'patch-apply': 32 };

/** The same on objects of a kind that is defined: each with the workload that it is like. */
const ofCustomKind = {
  'custom-get-quorum': ['get-quorum', 32],
  'custom-list-ns100': ['list-ns100', 32],
  'custom-list-page500': ['list-page500', 8],
  'custom-create': ['create-sa', 32],
  'custom-patch-merge': ['patch-merge', 32],
  'custom-patch-apply': ['patch-apply', 32],
};

/** Each run of a write workload writes something else. */
let run = Date.now() % 100_000;

/**
 * All workloads: `measure` runs one against a server, `measureBaseline` against the baseline. Figures per second.
 * @param {{ seconds: number, isPinned: boolean, baseline: import('./targets.mjs').Target }} options
 */
export function workloads({ seconds, isPinned, baseline }) {
  const core = (number) => (isPinned ? number : undefined);

  /** Requests of wrk, over HTTP/1.1 and TLS. */
  const load = ({ url, token }, name, connections, objects = builtIn) => {
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', file('wrk.lua')];
    const { root, apiVersion, kind, plural } = objects;
    const args = [token || 'none', name, String(run++), root, apiVersion, kind, plural];
    const output = runOn(core(loadCore), wrk, [...options, url, '--', ...args]);
    const [perSecond, p50Ms, p99Ms, errors] = (/RESULT ([\d. ]+)/.exec(output)?.[1] ?? '').split(' ').map(Number);
    return { perSecond, p50Ms, p99Ms, errors };
  };

  /** Events delivered to watchers, per second of the server's CPU time. */
  const fanOut = ({ url, token, pids }, which = 'built-in') => {
    const args = [url, token || 'none', watchers, writesPerSecond, seconds, pids.join(','), which].map(String);
    const output = runOn(core(loadCore), process.execPath, [file('fan-out.mjs'), ...args]);
    const { cpuUsPerEvent, latencyP50, latencyP99, expected, delivered } = JSON.parse(output);
    return { perSecond: 1e6 / cpuUsPerEvent, p50Ms: latencyP50, p99Ms: latencyP99, errors: expected - delivered };
  };

  const writeToEtcd = () => {
    const args = [file('baseline-writes.mjs'), baseline.etcd, String(seconds)];
    return { perSecond: Number(runOn(core(serverCore), process.execPath, args)) };
  };

  return [
    ...Object.entries(reads).map(([name, connections]) => ({
      name,
      objects: builtIn,
      measure: (target) => load(target, name, connections),
      measureBaseline: () => load(baseline, name, connections),
    })),
    ...Object.entries(writes).map(([name, connections]) => ({
      name,
      objects: builtIn,
      measure: (target) => load(target, name, connections),
      measureBaseline: writeToEtcd,
    })),
    {
      name: 'watch-fanout',
      objects: builtIn,
      measure: (target) => fanOut(target),
      measureBaseline: () => fanOut(baseline),
    },
    ...Object.entries(ofCustomKind).map(([name, [like, connections]]) => ({
      name,
      objects: custom,
      measure: (target) => load(target, like, connections, custom),
      measureBaseline: () => (like in reads ? load(baseline, like, connections) : writeToEtcd()),
    })),
    {
      name: 'custom-watch-fanout',
      objects: custom,
      measure: (target) => fanOut(target, 'custom'),
      measureBaseline: () => fanOut(baseline),
    },
  ];
}
