/**
 * Whatever a backend answers over HTTPS: a request that needs it ends in its time with the documented error, requests
 * that the backend serves are served meanwhile, and so is the next one once it behaves.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { callUntil, type Clock, seededRandom } from '@cluster-apiserver/base';
import { createAuditWebhook } from '@cluster-apiserver/audit';
import {
  createDocumentFetcher,
  createHttpsClient,
  createTokenWebhook,
  createWebhookAuthorizer,
  type HttpsClient,
  IssuerKeys,
} from '@cluster-apiserver/gates';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import {
  brokenAnswers,
  type HostileAnswer,
  unusualAnswers,
  waitingAnswers,
  wrongBodies,
  wrongStatuses,
} from '@cluster-apiserver/testkit/hostile-backend';
import { type HttpsServer, startHttpsServer } from '@cluster-apiserver/testkit/https-server';

let server: HttpsServer;
/** For requests that name it. */
const victim = 'victim';
let answer: HostileAnswer | undefined;
let good: (path: string, body: string) => string;

async function start(): Promise<HttpsServer> {
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const path = request.url ?? '';
    const right = good(path, body);
    response.socket?.on('error', () => {}); // the client has given up
    if (answer && (body.includes(victim) || path.includes(victim))) answer(response, right);
    else response.end(right);
  };
  return startHttpsServer((request, response) => void receive(request, response).catch(() => request.destroy()));
}
beforeAll(async () => {
  server = await start();
});
afterAll(() => server.stop());

interface Opened {
  /** Resolves with `served`, and rejects if the backend is of no use. */
  ask(name: string): Promise<unknown>;
}

interface Backend {
  readonly good: typeof good;
  readonly open: (client: HttpsClient, clock: Clock) => Opened;
  /** The documented time after which a request without an answer ends. */
  readonly limitMs: number;
  /** The error of a request that the backend does not serve. */
  readonly error: string;
  /** Time after which it is asked again. */
  readonly pauseMs: number;
  /** Whether only the status of its answers matters. */
  readonly readsNoBody?: boolean;
}

const call = callUntil(Number.POSITIVE_INFINITY);
const signal = new AbortController().signal;
const nothing = (): void => {};
const connectionOf = (client: HttpsClient) => () => ({
  client,
  url: new URL(`${server.origin}/review`),
  bearerToken: undefined,
});
const statusFor =
  (kind: string, statusOf: (spec: Readonly<Record<string, unknown>>) => object): typeof good =>
  (_, body) => {
    const { apiVersion, spec } = JSON.parse(body) as { apiVersion: string; spec: Readonly<Record<string, unknown>> };
    return JSON.stringify({ apiVersion, kind, status: statusOf(spec) });
  };

const backends: Readonly<Record<string, Backend>> = {
  'An issuer of tokens': {
    good: (path) => {
      const issuer = `${server.origin}${path.replace('/.well-known/openid-configuration', '')}`;
      return path.endsWith('/keys')
        ? JSON.stringify({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'key', alg: 'ES256', x: 'x', y: 'y' }] })
        : JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` });
    },
    open: (client, clock) => {
      const fetch = createDocumentFetcher(client, clock);
      const issuers = Map.groupBy(['other', victim], (name) => name);
      const keys = new Map(
        [...issuers.keys()].map((name) => {
          const address = { url: `${server.origin}/${name}`, discoveryUrl: undefined };
          return [name, new IssuerKeys({ address, fetch, clock, signal, failed: nothing })];
        }),
      );
      return { ask: async (name) => (await keys.get(name)?.find({ alg: 'ES256', kid: 'key' }, call)) && 'served' };
    },
    limitMs: 30_000,
    error: 'TokenRejectedError',
    pauseMs: 10_000,
  },
  'A token webhook': {
    good: statusFor('TokenReview', ({ token }) => ({ authenticated: true, user: { username: token } })),
    open: (client, clock) => {
      const random = seededRandom(1);
      const connection = connectionOf(client);
      const webhook = createTokenWebhook({ connection, clock, random, signal, version: 'v1', apiAudiences: [] });
      return {
        ask: async (name) => {
          const found = await webhook.authenticateToken(name, call);
          expect(found?.user.name).toBe(name);
          return 'served';
        },
      };
    },
    limitMs: 30_000,
    error: 'TokenRejectedError',
    pauseMs: 0,
  },
  'An authorization webhook': {
    good: statusFor('SubjectAccessReview', () => ({ allowed: true })),
    open: (client, clock) => {
      const authorizer = createWebhookAuthorizer({
        name: 'hook',
        authorizedTtlMs: 0,
        unauthorizedTtlMs: 0,
        timeoutMs: 3_000,
        subjectAccessReviewVersion: 'v1',
        failurePolicy: 'Deny',
        matchConditions: [],
        connection: connectionOf(client),
        clock,
        random: seededRandom(1),
        signal,
        measures: {
          evaluated: nothing,
          failedOpen: nothing,
          rejected: nothing,
          conditions: { evaluated: nothing, excluded: nothing, failed: nothing },
        },
        failed: nothing,
      });
      return {
        ask: async (name) => {
          const { verdict, error } = await authorizer.authorize(
            { user: { name, groups: [] }, verb: 'get', path: '/', resource: undefined },
            call,
          );
          expect(verdict).toBe(error ? 'deny' : 'allow');
          if (error) throw error;
          return 'served';
        },
      };
    },
    limitMs: 3_000,
    error: 'AuthorizationFailedError',
    pauseMs: 1_000,
  },
  'An audit webhook': {
    good: () => '{}',
    open: (client, clock) => {
      const connection = connectionOf(client);
      const send = createAuditWebhook({ connection, initialBackoffMs: 100, clock, random: seededRandom(1), signal });
      return { ask: async (name) => (await send([`{"name":"${name}"}`])) ?? 'served' };
    },
    limitMs: 5 * 30_000 + 2_000,
    error: '(Webhook)?Error',
    pauseMs: 0,
    readsNoBody: true,
  },
};

/** Lets time pass until the promise is settled, and returns how much. */
async function settle(clock: FakeClock, promise: Promise<unknown>): Promise<{ outcome: unknown; tookMs: number }> {
  const beganMs = clock.monotonicMs();
  let outcome: { readonly is: unknown } | undefined;
  promise.then(
    (value) => (outcome = { is: value }),
    (error: unknown) => (outcome = { is: error }),
  );
  for (let turns = 0; !outcome; turns++) {
    await new Promise((resolve) => setTimeout(resolve, turnMs));
    if (turns > turnsBeforeTime) clock.advance(stepMs);
  }
  return { outcome: outcome.is, tookMs: clock.monotonicMs() - beganMs };
}

/** Time of the network, which is real. */
const turnMs = 1;
const turnsBeforeTime = 30;
const stepMs = 500;
const grownBytesMax = 24 * 1024 * 1024;

const failing = { ...waitingAnswers, ...brokenAnswers, ...wrongStatuses };

describe.each(Object.entries(backends))('%s that', (_, backend) => {
  const open = (): Opened & { readonly clock: FakeClock; close(): void } => {
    const clock = fakeClock();
    good = backend.good;
    const client = createHttpsClient({ clock, ca: server.authority, connectionsMax: 4 });
    return { ...backend.open(client, clock), clock, close: () => client.close() };
  };
  const cases = Object.entries<HostileAnswer>(backend.readsNoBody ? failing : { ...failing, ...wrongBodies }).filter(
    // Any status of success is one.
    ([name]) => !(backend.readsNoBody && name === 'answers with 204'),
  );

  test.each(cases)('%s fails the requests that need it, and no others', async (name, hostile) => {
    const { clock, ask, close } = open();
    // A collection of garbage takes longer than the rest of a case.
    const before = name in brokenAnswers ? usedHeapBytes() : 0;
    answer = hostile;
    const failed = ask(victim);
    failed.catch(nothing); // awaited below
    expect(await ask('other')).toBe('served');
    const { outcome, tookMs } = await settle(clock, failed);
    expect(outcome).toMatchObject({ name: expect.stringMatching(`^${backend.error}$`) });
    expect(tookMs).toBeLessThanOrEqual(backend.limitMs + stepMs);
    answer = undefined;
    clock.advance(backend.pauseMs);
    expect((await settle(clock, ask(victim))).outcome).toBe('served');
    close();
    if (before > 0) expect(usedHeapBytes() - before).toBeLessThan(grownBytesMax);
    expect(clock.waiting).toBe(0);
  });

  test.each(
    Object.entries<HostileAnswer>(backend.readsNoBody ? { ...unusualAnswers, ...wrongBodies } : unusualAnswers).filter(
      // Its answer is too large for what is not read.
      ([name]) => !(backend.readsNoBody && /deep|many|long/.test(name)),
    ),
  )('%s is served as by any other', async (__, unusual) => {
    const { clock, ask, close } = open();
    answer = unusual;
    expect((await settle(clock, ask(victim))).outcome).toBe('served');
    close();
  });

  test('changes with each answer serves the requests that it answers well', async () => {
    const { clock, ask, close } = open();
    const all = Object.values(backend.readsNoBody ? wrongStatuses : wrongBodies);
    let calls = 0;
    answer = (response, right) =>
      calls++ % 2 === 0 ? all[(calls >> 1) % all.length]?.(response, right) : void response.end(right);
    const outcomes: unknown[] = [];
    for (let asked = 0; asked < 12; asked++) {
      outcomes.push((await settle(clock, ask(victim))).outcome);
      clock.advance(backend.pauseMs);
    }
    for (const outcome of outcomes.filter((one) => one !== 'served'))
      expect(outcome).toMatchObject({ name: expect.stringMatching(`^${backend.error}$`) });
    expect(outcomes).toContain('served');
    close();
  });
});

test('a backend whose certificate changes is not used, until it is trusted', async () => {
  const others = server;
  server = await start();
  answer = undefined;
  const ask = async ({ good: right, open }: Backend, ca: string): Promise<unknown> => {
    const clock = fakeClock();
    good = right;
    const client = createHttpsClient({ clock, ca, connectionsMax: 4 });
    const { outcome } = await settle(clock, open(client, clock).ask('other'));
    client.close();
    return outcome;
  };
  for (const backend of Object.values(backends)) expect(await ask(backend, server.authority)).toBe('served');
  const rotated = await server.rotateCertificate();
  for (const backend of Object.values(backends)) {
    expect(await ask(backend, server.authority)).toMatchObject({ name: expect.stringMatching(`^${backend.error}$`) });
    expect(await ask(backend, rotated)).toBe('served');
  }
  await server.stop();
  server = others;
});
