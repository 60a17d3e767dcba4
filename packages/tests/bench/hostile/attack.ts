import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import https from 'node:https';
import { openHttps } from '@cluster-apiserver/testkit/https-request';
import type { Field } from '@cluster-apiserver/testkit/http2-frames';
import { Http2Connection, type Http2Options, type Http2Target } from '../../test/hostile/http2-connection.ts';

/** One way to harm a server; `attacks.ts` lists them all. */
export interface Attack {
  readonly name: string;
  /** The resource that the attack tries to exhaust or block. */
  readonly reason: string;
  /** Prepares the attack before anything is measured. The returned function is the attack. */
  prepare(context: AttackContext): Promise<() => Promise<void>>;
}

export interface AttackContext {
  readonly target: Http2Target;
  /** Token of an administrator. */
  readonly token: string;
  /** Aborted at the end of the attack. */
  readonly signal: AbortSignal;
  /** Counts one outcome: a status, `closed`, `goaway` and the like. */
  count(outcome: string, times?: number): void;
}

export interface HttpRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  readonly contentType?: string;
}

/**
 * Namespaces of the seeded objects (few large ones, many small ones), of the well-behaved client's object, and of the
 * objects that attacks create.
 */
export const namespaces = { large: 'large', small: 'small', polite: 'polite', attack: 'attack' } as const;
export const serviceAccountsPath = (namespace: string, name?: string): string =>
  `/api/v1/namespaces/${namespace}/serviceaccounts${name === undefined ? '' : `/${name}`}`;

/**
 * The attacker has all permissions but is another user than the well-behaved client, so that a per-user limit stops
 * only the attacker.
 */
export const attackerFields = ({ token }: AttackContext): Field[] => [
  ['authorization', `Bearer ${token}`],
  ['impersonate-user', 'attacker'],
  ['impersonate-group', 'system:masters'],
];

/** Sends a request over HTTP/1.1, reads the whole response and returns its status. */
export type SendRequest = (request: HttpRequest) => Promise<ResponseSummary>;

interface ResponseSummary {
  readonly status: number;
  readonly bytes: number;
  text(): string;
}

const keptBodyBytesMax = 64 * 1024;

export function openAgent(context: AttackContext, connections: number): SendRequest {
  const { port, ca } = context.target;
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: connections });
  context.signal.addEventListener('abort', () => agent.destroy());
  return async ({ method = 'GET', path, headers, body, contentType = 'application/json' }) => {
    const response = await openHttps(`https://127.0.0.1:${port}${path}`, {
      agent,
      method,
      body,
      headers: {
        ...Object.fromEntries(attackerFields(context)),
        ...(body !== undefined && { 'content-type': contentType }),
        ...headers,
      },
    });
    const kept: Buffer[] = [];
    let bytes = 0;
    for await (const piece of response) {
      bytes += (piece as Buffer).length;
      if (bytes <= keptBodyBytesMax) kept.push(piece as Buffer);
    }
    return { status: response.statusCode ?? 0, bytes, text: () => Buffer.concat(kept).toString() };
  };
}

/** Sends requests sequentially on each connection until the time or `requestsMax` is reached. */
export async function repeat(
  context: AttackContext,
  connections: number,
  requestsMax: number,
  next: (number: number) => HttpRequest,
): Promise<void> {
  const ask = openAgent(context, connections);
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (sent < requestsMax && !context.signal.aborted) {
        try {
          const { status } = await ask(next(sent++));
          context.count(`${status}`);
        } catch (error) {
          if (context.signal.aborted) return;
          context.count((error as NodeJS.ErrnoException).code ?? 'failed'); // Node's request errors have a code
          await pause(context, retryPauseMs);
        }
      }
    }),
  );
}

/** Delay between attempts on a server that closes connections, so that the attack does not spin. */
const retryPauseMs = 20;

/** Waits, or returns early at the end of the attack. */
export const pause = (context: AttackContext, delayMs: number): Promise<void> =>
  sleep(clock, delayMs, context.signal).catch(() => {});

export const untilOver = (context: AttackContext): Promise<void> =>
  new Promise((resolve) => {
    if (context.signal.aborted) resolve();
    else context.signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Opens a raw connection that counts responses by status and closes at the end of the attack. */
export async function openHttp2(context: AttackContext, options: Http2Options = {}): Promise<Http2Connection> {
  const connection = await Http2Connection.open(context.target, {
    ...options,
    onHeaders: (stream, fields, ended) => {
      const status = fields.find(([name]) => name === ':status')?.[1];
      if (status !== undefined) context.count(status);
      options.onHeaders?.(stream, fields, ended);
    },
  });
  const destroy = (): void => connection.destroy();
  context.signal.addEventListener('abort', destroy);
  void connection.closed.then(() => {
    context.signal.removeEventListener('abort', destroy);
    if (!context.signal.aborted) context.count(connection.goaway ? 'goaway' : 'closed');
  });
  return connection;
}

export const requestFields = (method: string, path: string, more: readonly Field[] = []): Field[] => [
  [':method', method],
  [':path', path],
  [':scheme', 'https'],
  [':authority', '127.0.0.1'],
  ...more,
];
