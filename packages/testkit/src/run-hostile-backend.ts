/** The process of a hostile backend: does what the program says that started it. See `hostile-process.ts`. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import {
  brokenAnswers,
  type HostileAnswer,
  hostilePeers,
  unusualAnswers,
  waitingAnswers,
  wrongBodies,
  wrongStatuses,
} from './hostile-backend.ts';
import { startHttpsServer } from './https-server.ts';

export type Command =
  | { readonly do: 'start' | 'origin' | 'rotate' | 'end' }
  | { readonly do: 'answer'; readonly good: Goodness; readonly hostile: readonly (string | null)[] }
  | { readonly do: 'serve'; readonly at: net.ListenOptions; readonly name: string };

/** Whose good answers it gives. */
export type Goodness = keyof typeof goodAnswers;

/** A request about this name gets a hostile answer. */
const victim = 'victim';

const review =
  (kind: string, statusOf: (spec: { readonly token?: string }) => object) =>
  (_: string, body: string): string => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server under test has written it
    const { apiVersion, spec } = JSON.parse(body) as { apiVersion: string; spec: { readonly token?: string } };
    return JSON.stringify({ apiVersion, kind, status: statusOf(spec) });
  };

const goodAnswers = {
  issuer: (at: string): string => {
    const issuer = `${server.origin}${at.replace('/.well-known/openid-configuration', '')}`;
    return at.endsWith('/keys')
      ? JSON.stringify({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'key', alg: 'ES256', x: 'x', y: 'y' }] })
      : JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` });
  },
  tokenReview: review('TokenReview', ({ token }) => ({ authenticated: true, user: { username: token } })),
  accessReview: review('SubjectAccessReview', () => ({ allowed: true })),
  audit: (): string => '{}',
};

const hostileAnswers: Readonly<Record<string, HostileAnswer>> = {
  ...waitingAnswers,
  ...brokenAnswers,
  ...wrongStatuses,
  ...wrongBodies,
  ...unusualAnswers,
};

let good: Goodness = 'audit';
let hostile: readonly (string | null)[] = [];
let answered = 0;

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const at = request.url ?? '';
  const right = goodAnswers[good](at, body);
  // The client has given up. A connection may serve many requests.
  response.socket?.setMaxListeners(0).on('error', () => {});
  const isHostile = body.includes(victim) || at.includes(victim);
  const name = isHostile ? hostile[answered++ % hostile.length] : undefined;
  if (name) hostileAnswers[name]?.(response, right);
  else response.end(right);
}

const server = await startHttpsServer(
  (request, response) => void receive(request, response).catch(() => request.destroy()),
);

const sockets = new Set<net.Socket>();
let peers: net.Server | undefined;

async function serve(at: net.ListenOptions, name: string): Promise<void> {
  peers = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // the client has given up
    socket.resume();
    hostilePeers[name]?.(socket);
  });
  peers.listen(at);
  await once(peers, 'listening');
}

async function endPeers(): Promise<void> {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  if (!peers) return;
  const closed = once(peers, 'close');
  peers.close();
  await closed;
}

async function obey(command: Command): Promise<string> {
  if (command.do === 'start') return server.authority;
  if (command.do === 'origin') return server.origin;
  if (command.do === 'rotate') return server.rotateCertificate();
  if (command.do === 'serve') await serve(command.at, command.name);
  else if (command.do === 'end') await endPeers();
  else if (command.do === 'answer') {
    ({ good, hostile } = command);
    answered = 0;
  }
  return '';
}

process.on('message', (command: Command) => void obey(command).then((answer) => process.send?.(answer)));
await once(process, 'disconnect');
process.exit();
