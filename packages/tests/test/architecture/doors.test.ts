import { describe, expect, test } from '@jest/globals';
import { type Source, readSources } from './sources.ts';

/**
 * What a program can reach of the machine, and the few who may. Everybody else gets it as an argument: a simulation
 * then runs the whole server under its own time, chance, network and files.
 */
interface Door {
  readonly name: string;
  readonly globals?: readonly string[];
  /** Modules, or single functions of one as `module#function`. */
  readonly modules?: readonly string[];
  /** Files, or folders with a slash behind them, each with the reason. */
  readonly allowed: Readonly<Record<string, string>>;
}

const launcher = 'starts processes, looks after them and writes down where they are: that is all it does';

const doors: readonly Door[] = [
  {
    name: 'the time',
    globals: ['Date.now', 'new Date()', 'performance', 'setTimeout', 'setInterval', 'setImmediate'],
    modules: ['node:timers', 'node:timers/promises', 'node:perf_hooks'],
    allowed: { 'base/src/clock.ts': 'makes the Clock that all others are given' },
  },
  {
    name: 'chance',
    globals: ['Math.random', 'crypto'],
    modules: ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID'].map(
      (name) => `node:crypto#${name}`,
    ),
    allowed: { 'base/src/random.ts': 'makes the Random that all others are given' },
  },
  {
    name: 'the process',
    globals: ['process', 'globalThis', 'global'],
    modules: ['node:process', 'node:os', 'node:worker_threads', 'node:cluster'],
    allowed: {
      'server/src/main.ts': 'the entry: arguments, signals and the end',
      'server/src/healthcheck.ts': 'the entry of the health check: arguments and the exit code',
      'devcluster/src/main.ts': 'the entry: arguments, signals and the end',
      'devcluster/src/compose/main.ts': 'the entry of the set-up for docker compose: arguments and the end',
      'devcluster/src/processes.ts': 'signals for processes that an earlier launcher left behind',
    },
  },
  {
    name: 'the terminal',
    globals: ['console'],
    modules: ['node:readline', 'node:tty'],
    allowed: {
      'devcluster/src/main.ts': 'the entry: what the operator reads',
      'devcluster/src/compose/main.ts': 'the entry: what the operator reads',
    },
  },
  {
    name: 'the files',
    modules: ['node:fs', 'node:fs/promises'],
    allowed: {
      'server/src/main.ts': 'the entry: hands in how files are read and written',
      'server/src/stderr.ts': 'standard error, for the log of the entry',
      'server/src/audit-files.ts': 'the files of the audit log, which the entry hands in',
      'devcluster/src/': launcher,
    },
  },
  {
    name: 'the network',
    globals: ['fetch', 'WebSocket'],
    modules: ['node:http', 'node:https', 'node:http2', 'node:net', 'node:tls', 'node:dgram', 'node:dns'],
    allowed: {
      'server/src/healthcheck.ts': 'requests a health path of the server beside it',
      'pipeline/src/listener/': 'the edge between sockets and requests',
      'storage/src/etcd/http2/dial.ts': 'the connections to etcd that the real server is given',
      'storage/src/etcd/http2/node-connection.ts': 'the same, over another HTTP/2',
      'gates/src/https/https-client.ts': 'asks issuers and webhooks, for the real server',
      'gates/src/https/connect-proxy.ts': 'leads such a request through a proxy',
      'audit/src/source-ips.ts': 'asks of a text whether it is an address, and opens nothing',
      'certificates/src/extensions.ts': 'asks of a text whether it is an address, and opens nothing',
      'server/src/stderr.ts': 'standard error may be a socket',
      'devcluster/src/': launcher,
    },
  },
  {
    name: 'other processes',
    modules: ['node:child_process'],
    allowed: { 'devcluster/src/': launcher },
  },
];

const sources = readSources().filter(({ ofTests }) => !ofTests);

/** What a file uses of a door. */
const uses = ({ globals, imports }: Source, door: Door): string[] => [
  ...(door.globals ?? []).filter((name) => globals.has(name)),
  ...(door.modules ?? []).filter((module) => {
    const [from, name] = module.split('#');
    return imports.some(
      (used) => used.from === from && (name ? (used.names?.includes(name) ?? true) : used.names?.length !== 0),
    );
  }),
];

describe.each(doors)('$name', (door) => {
  const places = Object.keys(door.allowed);
  const users = sources.filter((source) => uses(source, door).length > 0);

  test('is reached only by those who may', () => {
    const strangers = users.filter(
      ({ path }) => !places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place)),
    );
    expect(strangers.map((source) => `${source.path}: ${uses(source, door).join(', ')}`)).toEqual([]);
  });

  test.each(places)('is still needed by %s', (place) => {
    expect(users.some(({ path }) => path.startsWith(place))).toBe(true);
  });
});
