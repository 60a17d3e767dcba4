/**
 * Compares load balancers in front of the three replicas of docker-compose.yml, all as local processes:
 *
 *     ETCD_BIN=… node --conditions=source packages/tests/bench/load-balancers.ts haproxy=/usr/sbin/haproxy nginx=… envoy=… caddy=… [--save]
 *
 * Measures the load balancer's CPU time from /proc: on a busy machine, request rates say little.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { http1Client, http2Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { until } from '@cluster-apiserver/testkit/until';
import { readProcessState } from '../test/hostile/server-process.ts';
import { readProcessorMs } from './hostile/processor-use.ts';
import { type ComposeProcesses, startComposeProcesses } from '../test/deploy/compose-processes.ts';
import { args, saveSizing } from './save-measured.ts';

const accounts = '/api/v1/namespaces/team/serviceaccounts';
const requestsMs = 5_000;
const quietMs = 1_000;
const connectionsNew = 400;
const connectionsIdle = 1_000;
const watches = 50;
const writes = 300;

interface Candidate {
  readonly args: (port: number, ports: readonly number[], files: Files) => readonly string[];
}

interface Files {
  /** Writes a file and returns its path. */
  write(name: string, content: string): string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const candidates: Readonly<Record<string, Candidate>> = {
  haproxy: {
    args: (port, ports, { write, ca }) => [
      '-db',
      '-f',
      write(
        'haproxy.cfg',
        `global
    nbthread 1
    fd-hard-limit 20000
defaults
    mode tcp
    timeout connect 2s
    timeout check 2s
    timeout client 65m
    timeout server 65m
    retries 3
    option redispatch 1
frontend api
    bind 127.0.0.1:${port}
    default_backend replicas
backend replicas
    balance leastconn
    option httpchk
    http-check send meth GET uri /readyz
    http-check expect status 200
    default-server check check-ssl verify required ca-file ${ca} inter 1s fall 2 rise 1
${ports.map((one) => `    server s${one} 127.0.0.1:${one}\n`).join('')}`,
      ),
    ],
  },
  nginx: {
    args: (port, ports, { write }) => [
      '-c',
      write(
        'nginx.conf',
        `load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
master_process off;
error_log stderr crit;
pid ${path.dirname(write('nginx.pid', ''))}/nginx.pid;
events { worker_connections 10000; }
stream {
  upstream replicas {
    least_conn;
${ports.map((one) => `    server 127.0.0.1:${one} max_fails=1 fail_timeout=5s;\n`).join('')}  }
  server { listen 127.0.0.1:${port}; proxy_pass replicas; proxy_connect_timeout 2s; proxy_timeout 65m; }
}
`,
      ),
    ],
  },
  envoy: {
    args: (port, ports, { write, ca }) => [
      '--concurrency',
      '1',
      '--log-level',
      'error',
      '--use-dynamic-base-id',
      '-c',
      write(
        'envoy.json',
        JSON.stringify({
          static_resources: {
            listeners: [
              {
                address: socketAddress(port),
                filter_chains: [
                  {
                    filters: [
                      {
                        name: 'tcp',
                        typed_config: {
                          '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
                          stat_prefix: 'api',
                          cluster: 'replicas',
                          idle_timeout: '3900s',
                          max_connect_attempts: 3,
                        },
                      },
                    ],
                  },
                ],
              },
            ],
            clusters: [
              {
                name: 'replicas',
                type: 'STATIC',
                lb_policy: 'LEAST_REQUEST',
                connect_timeout: '2s',
                circuit_breakers: { thresholds: [{ max_connections: 30_000, max_pending_requests: 30_000 }] },
                load_assignment: {
                  cluster_name: 'replicas',
                  endpoints: [{ lb_endpoints: ports.map((one) => ({ endpoint: { address: socketAddress(one) } })) }],
                },
                transport_socket_matches: [
                  {
                    name: 'check',
                    match: { check: true },
                    transport_socket: {
                      name: 'tls',
                      typed_config: {
                        '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
                        common_tls_context: { validation_context: { trusted_ca: { filename: ca } } },
                      },
                    },
                  },
                ],
                health_checks: [
                  {
                    timeout: '1s',
                    interval: '1s',
                    // Envoy checks only once a minute while there is no traffic.
                    no_traffic_interval: '1s',
                    unhealthy_threshold: 2,
                    healthy_threshold: 1,
                    http_health_check: { path: '/readyz' },
                    transport_socket_match_criteria: { check: true },
                  },
                ],
              },
            ],
          },
        }),
      ),
    ],
  },
  // Caddy needs a plugin to pass TLS through, so it terminates TLS and opens new TLS connections.
  caddy: {
    args: (port, ports, { write, ca, cert, key }) => [
      'run',
      '--config',
      write(
        'caddy.json',
        JSON.stringify({
          admin: { disabled: true },
          logging: { logs: { default: { level: 'ERROR' } } },
          apps: {
            tls: { certificates: { load_files: [{ certificate: cert, key }] } },
            http: {
              servers: {
                api: {
                  listen: [`127.0.0.1:${port}`],
                  automatic_https: { disable: true },
                  tls_connection_policies: [{}],
                  routes: [
                    {
                      handle: [
                        {
                          handler: 'reverse_proxy',
                          flush_interval: -1,
                          load_balancing: { selection_policy: { policy: 'least_conn' } },
                          health_checks: { active: { uri: '/readyz', interval: '1s', timeout: '2s' } },
                          transport: { protocol: 'http', versions: ['2'], tls: { root_ca_pem_files: [ca] } },
                          upstreams: ports.map((one) => ({ dial: `127.0.0.1:${one}` })),
                        },
                      ],
                    },
                  ],
                },
              },
            },
          },
        }),
      ),
    ],
  },
};

const socketAddress = (port: number) => ({ socket_address: { address: '127.0.0.1', port_value: port } });

const cluster = await startComposeProcesses();
/** Bypasses the load balancer. */
const admin = http1Client(cluster.replicas.at(-1)?.url ?? '', { ca: cluster.ca, ...cluster.admin });

async function row(name: string, program: string, token: string): Promise<string> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'balancer-'));
  const ports = cluster.replicas.map(({ url }) => Number(new URL(url).port));
  const [port = 0] = await freePorts(1);
  const files: Files = {
    write: (file, content) => {
      fs.writeFileSync(path.join(folder, file), content);
      return path.join(folder, file);
    },
    ...cluster.files,
  };
  const args = candidates[name]?.args(port, ports, files) ?? [];
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, HOME: folder } });
  try {
    const to: Target = { url: `https://127.0.0.1:${port}`, pid: child.pid ?? 0, token };
    await until(name, async () => (await statusOf(to)) === 200 || undefined);
    const cells = [
      await requestCost(to),
      await connectionCost(to),
      await eventCost(to),
      await idleMemory(to),
      await measureDraining(to, cluster),
      await measureStopped(to, cluster),
    ];
    if (name === 'haproxy') saveSizing('HAProxy, one thread', describeCosts(cells));
    return `| ${name} | ${cells.join(' | ')} |`;
  } finally {
    await endProcess(child, 'SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const describeCosts = ([request, connection, event, idle]: readonly string[]): string =>
  `${request?.replace(/ .*/, '')} µs per request, ${connection} µs per new connection, ${event} µs per event, ${idle} KiB per idle connection`;

interface Target {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
}

/** Processor microseconds per request on eight sessions with eight streams each. */
async function requestCost({ url, pid, token }: Target): Promise<string> {
  const clients = Array.from({ length: 8 }, () => http2Client(url, { ca: cluster.ca, token }));
  let count = 0;
  const before = cpuUs(pid);
  const endMs = clock.monotonicMs() + requestsMs;
  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 8 }, async () => {
        while (clock.monotonicMs() < endMs) {
          await client.request('GET', `${accounts}/robot`, { quietMs }).then(
            () => (count += 1),
            () => {}, // a stream that Node's client sent after its own GOAWAY
          );
        }
      }),
    ),
  );
  for (const client of clients) client.close();
  return `${((cpuUs(pid) - before) / count).toFixed(1)} (${Math.round((count / requestsMs) * 1000)}/s)`;
}

/** Requests on the session report its errors. */
function openSession(url: string): ClientHttp2Session {
  const session = connect(url, { ca: cluster.ca });
  session.on('error', () => {});
  return session;
}

async function connectionCost(to: Target): Promise<string> {
  const before = cpuUs(to.pid);
  for (let i = 0; i < connectionsNew; i += 8) await Promise.all(Array.from({ length: 8 }, () => statusOf(to)));
  return ((cpuUs(to.pid) - before) / connectionsNew).toFixed(0);
}

/** Fifty watches on separate connections, one writer. */
async function eventCost({ url, pid, token }: Target): Promise<string> {
  const sessions = Array.from({ length: watches }, () => openSession(url));
  let events = 0;
  for (const session of sessions)
    get(session, `${accounts}?watch=true&fieldSelector=metadata.name%3Drobot`, token).on('data', (piece: Buffer) => {
      for (const byte of piece) if (byte === 10) events += 1;
    });
  await until('all watches', () => events >= watches || undefined);
  const [before, seen] = [cpuUs(pid), events];
  for (let i = 0; i < writes; i += 1) await patchRobot(i);
  await until('all events', () => events - seen >= watches * writes || undefined);
  const cost = (cpuUs(pid) - before) / (events - seen);
  for (const session of sessions) session.destroy();
  return cost.toFixed(1);
}

async function idleMemory({ url, pid }: Target): Promise<string> {
  const { port } = new URL(url);
  const before = residentKiB(pid);
  const sockets: tls.TLSSocket[] = [];
  for (let i = 0; i < connectionsIdle; i += 20)
    sockets.push(
      ...(await Promise.all(
        Array.from({ length: 20 }, async () => {
          const socket = tls.connect({ port: Number(port), host: '127.0.0.1', ca: cluster.ca, ALPNProtocols: ['h2'] });
          await once(socket, 'secureConnect');
          return socket;
        }),
      )),
    );
  const grown = (residentKiB(pid) - before) / connectionsIdle;
  for (const socket of sockets) socket.destroy();
  return grown.toFixed(1);
}

/** Sends requests on new connections while a replica shuts down gracefully and restarts. */
async function measureDraining(to: Target, { replicas }: ComposeProcesses): Promise<string> {
  const load = startProbes(to);
  const [replica] = replicas;
  replica?.signal('SIGTERM');
  await replica?.restart();
  await sleep(clock, 3_000);
  const { failed, count } = await load.stop();
  return `${failed.length} of ${count}`;
}

const stillMs = 8_000;

/** The same while a replica accepts connections but does not respond. */
async function measureStopped(to: Target, { replicas }: ComposeProcesses): Promise<string> {
  const [, replica] = replicas;
  const load = startProbes(to);
  const beganMs = clock.monotonicMs();
  replica?.signal('SIGSTOP');
  await sleep(clock, stillMs);
  const { failed, count } = await load.stop();
  replica?.signal('SIGCONT');
  await sleep(clock, 3_000);
  const last = failed.at(-1);
  return `${failed.length} of ${count}${last === undefined ? '' : `, ${((last - beganMs) / 1000).toFixed(1)} s`}`;
}

/** Eight clients that open a connection per request and time out after a second. */
function startProbes(to: Target): { stop(): Promise<{ readonly failed: readonly number[]; readonly count: number }> } {
  const failed: number[] = [];
  let count = 0;
  let stopping = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!stopping) {
      const beganMs = clock.monotonicMs();
      const status = await statusOf(to);
      count += 1;
      if (status !== 200) failed.push(beganMs);
      await sleep(clock, 20);
    }
  });
  return {
    stop: async () => {
      stopping = true;
      await Promise.all(clients);
      return { failed: failed.sort((a, b) => a - b), count };
    },
  };
}

function get(session: ClientHttp2Session, path: string, token: string) {
  return session.request({ ':path': path, authorization: `Bearer ${token}` });
}

/** On a connection of its own; 0 without a response. */
const statusOf = ({ url, token }: Target): Promise<number> =>
  requestHttps(`${url}${accounts}/robot`, { ca: cluster.ca, token, quietMs }).then(
    ({ status }) => status,
    () => 0,
  );

const patchRobot = (n: number): Promise<unknown> =>
  requireSuccess(admin, 'PATCH', `${accounts}/robot`, { body: { metadata: { labels: { n: `${n}` } } } });

async function tokenOfRobot(): Promise<string> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const create = (path: string, body: object): Promise<string> => requireSuccess(admin, 'POST', path, { body });
  await create(accounts, { metadata: { name: 'robot' } });
  await create(`/apis/${apiGroup}/v1/clusterrolebindings`, {
    metadata: { name: 'robot' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'team' }],
  });
  const review = await create(`${accounts}/robot/token`, { spec: {} });
  return (JSON.parse(review) as { status: { token: string } }).status.token;
}

const cpuUs = (pid: number): number => readProcessorMs(pid) * 1_000;
const residentKiB = (pid: number): number => (readProcessState(pid)?.residentMiB ?? Number.NaN) * 1_024;

try {
  const token = await tokenOfRobot();
  const chosen = args.map((argument) => argument.split('=') as [string, string]);
  console.log(
    '| | request µs | new connection µs | event µs | KiB per idle connection | failed while one drains | failed while one stands still, seconds of them |',
  );
  console.log('|---|---|---|---|---|---|---|');
  for (const [name, program] of chosen) console.log(await row(name, program, token));
} finally {
  admin.close();
  await cluster.stop();
}
