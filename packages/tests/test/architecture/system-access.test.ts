import { describe, expect, test } from '@jest/globals';
import { type Source, readSources } from './sources.ts';

/**
 * Resources of the operating system and runtime, and the few files that may use them. All other code receives them as
 * arguments, so a simulation can run the whole server with its own clock, random numbers, network and files.
 */
interface SystemAccess {
  readonly name: string;
  readonly globals?: readonly string[];
  /** Modules, or single exports of one as `module#function`. */
  readonly modules?: readonly string[];
  /** Files, or folders with a trailing slash, each with the reason. */
  readonly allowed: Readonly<Record<string, string>>;
}

const launcher = 'starts and monitors processes and records their addresses: its only purpose';

const systemAccesses: readonly SystemAccess[] = [
  {
    name: 'time',
    globals: ['Date.now', 'new Date()', 'performance', 'setTimeout', 'setInterval', 'setImmediate'],
    modules: ['node:timers', 'node:timers/promises', 'node:perf_hooks'],
    allowed: { 'base/src/clock.ts': 'creates the Clock that all other code receives' },
  },
  {
    name: 'randomness',
    globals: ['Math.random', 'crypto'],
    modules: ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID'].map(
      (name) => `node:crypto#${name}`,
    ),
    allowed: { 'base/src/random.ts': 'creates the Random that all other code receives' },
  },
  {
    name: 'process',
    globals: ['process', 'globalThis', 'global'],
    modules: ['node:process', 'node:os', 'node:worker_threads', 'node:cluster'],
    allowed: {
      'server/src/main.ts': 'entry point: version of Node.js and exit',
      'server/src/program.ts': 'the program: arguments, signals and exit',
      'server/src/healthcheck.ts': 'entry point of the health check: arguments and exit code',
      'devcluster/src/cluster-apiserver.ts': 'the command of users: arguments, version of Node.js and exit',
      'devcluster/src/main.ts': 'entry point: arguments, signals and exit',
      'devcluster/src/compose/main.ts': 'entry point of the docker compose setup: arguments and exit',
      'devcluster/src/processes.ts': 'signals orphaned processes of an earlier launcher',
    },
  },
  {
    name: 'terminal',
    globals: ['console'],
    modules: ['node:readline', 'node:tty'],
    allowed: {
      'devcluster/src/main.ts': 'entry point: output for the operator',
      'devcluster/src/compose/main.ts': 'entry point: output for the operator',
    },
  },
  {
    name: 'files',
    modules: ['node:fs', 'node:fs/promises'],
    allowed: {
      'server/src/program.ts': 'the program: supplies file access',
      'server/src/stderr.ts': 'standard error, for the log',
      'server/src/audit/audit-files.ts': 'files of the audit log, supplied by the entry point',
      'devcluster/src/': launcher,
    },
  },
  {
    name: 'network',
    globals: ['fetch', 'WebSocket'],
    modules: ['node:http', 'node:https', 'node:http2', 'node:net', 'node:tls', 'node:dgram', 'node:dns'],
    allowed: {
      'server/src/healthcheck.ts': 'requests a health path of the server beside it',
      'pipeline/src/listener/': 'converts between sockets and requests',
      'storage/src/etcd/http2/dial.ts': 'connections to etcd of the real server',
      'gates/src/https/https-client.ts': 'requests to issuers and webhooks of the real server',
      'gates/src/https/connect-proxy.ts': 'sends such a request through a proxy',
      'audit/src/source-ips.ts': 'only parses IP addresses',
      'certificates/src/extensions.ts': 'only parses IP addresses',
      'config/src/tracing-configuration.ts': 'only parses IP addresses',
      'server/src/flags/flag.ts': 'only parses IP addresses',
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

const sources = readSources().filter(({ isTestCode: ofTests }) => !ofTests);

/** The globals and modules of this access that a file uses. */
const usesIn = ({ globals, imports }: Source, access: SystemAccess): string[] => [
  ...(access.globals ?? []).filter((name) => globals.has(name)),
  ...(access.modules ?? []).filter((module) => {
    const [from, name] = module.split('#');
    return imports.some(
      (used) => used.from === from && (name ? (used.names?.includes(name) ?? true) : used.names?.length !== 0),
    );
  }),
];

describe.each(systemAccesses)('$name', (access) => {
  const places = Object.keys(access.allowed);
  const users = sources.filter((source) => usesIn(source, access).length > 0);

  test('is used only by the allowed files', () => {
    const violations = users.filter(
      ({ path }) => !places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place)),
    );
    expect(violations.map((source) => `${source.path}: ${usesIn(source, access).join(', ')}`)).toEqual([]);
  });

  test.each(places)('is still used by %s', (place) => {
    expect(users.some(({ path }) => path.startsWith(place))).toBe(true);
  });
});
