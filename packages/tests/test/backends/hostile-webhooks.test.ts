/**
 * Whatever a backend answers over HTTPS: a request that needs it ends in its time with the documented error, requests
 * that the backend serves are served meanwhile, and so is the next one once it behaves.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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
  unusualAnswers,
  waitingAnswers,
  wrongBodies,
  wrongStatuses,
} from '@cluster-apiserver/testkit/hostile-backend';
import { type HostileProcess, startHostileProcess } from '@cluster-apiserver/testkit/hostile-process';
import type { Goodness } from '@cluster-apiserver/testkit/run-hostile-backend';
import { countTurns } from '@cluster-apiserver/testkit/turns';

let server: HostileProcess;
/** For requests that name it. */
const victim = 'victim';

beforeAll(async () => {
  server = await startHostileProcess();
});
afterAll(() => server.stop());

interface Opened {
  /** Resolves with `served`, and rejects if the backend is of no use. */
  ask(name: string): Promise<unknown>;
}

interface Backend {
  readonly good: Goodness;
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
const backends: Readonly<Record<string, Backend>> = {
  'An issuer of tokens': {
    good: 'issuer',
    open: (client, clock) => {
      const fetch = createDocumentFetcher(client, clock);
      const keys = new Map<string, IssuerKeys>();
      const keysOf = (name: string): IssuerKeys => {
        const address = { url: `${server.origin}/${name}`, discoveryUrl: undefined };
        const found = keys.get(name) ?? new IssuerKeys({ address, fetch, clock, signal, fetched: nothing });
        keys.set(name, found);
        return found;
      };
      return { ask: async (name) => (await keysOf(name).find({ alg: 'ES256', kid: 'key' }, call)) && 'served' };
    },
    limitMs: 30_000,
    error: 'TokenRejectedError',
    pauseMs: 10_000,
  },
  'A token webhook': {
    good: 'tokenReview',
    open: (client, clock) => {
      const random = seededRandom(1);
      const connection = connectionOf(client);
      const webhook = createTokenWebhook({
        connection,
        clock,
        random,
        signal,
        version: 'v1',
        apiAudiences: [],
        reviewed: nothing,
      });
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
    good: 'accessReview',
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
        reviewed: nothing,
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
    good: 'audit',
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
    const isDue = turns > manyTurns || turns % turnsOfNetwork === 0;
    if (turns > turnsBeforeTime && isDue) clock.advance(stepMs);
  }
  return { outcome: outcome.is, tookMs: clock.monotonicMs() - beganMs };
}

/** Time of the network, which is real. */
const turnMs = 1;
const turnsBeforeTime = 30;
/** Time enough for a connection to another process, as long as requests are repeated. */
const turnsOfNetwork = 10;
const manyTurns = 300;
const stepMs = 500;
const grownBytesMax = 24 * 1024 * 1024;
/** What Node reads from a connection before others have their turn. */
const readBytesMax = 2 * 1024 * 1024;
/** The largest answer that is read. */
const answerBytesMax = 1024 * 1024;
/** Texts from here on have turns of their own. */
const largeText = 32 * 1024;
/** As slow as V8 may be with values of many members. */
const charactersPerMs = 32 * 1024;

const failing = { ...waitingAnswers, ...brokenAnswers, ...wrongStatuses };

describe.each(Object.entries(backends))('%s that', (_, backend) => {
  const open = (): Opened & { readonly clock: FakeClock; close(): void } => {
    const clock = fakeClock();
    const client = createHttpsClient({ clock, ca: server.authority, connectionsMax: 4 });
    return { ...backend.open(client, clock), clock, close: () => client.close() };
  };
  const cases = Object.keys(backend.readsNoBody ? failing : { ...failing, ...wrongBodies }).filter(
    // Any status of success is one.
    (name) => !(backend.readsNoBody && name === 'answers with 204'),
  );

  let heapBefore = 0;
  beforeAll(() => {
    heapBefore = usedHeapBytes();
  });
  // Of all cases together: a collection of garbage takes longer than a case.
  afterAll(() => expect(usedHeapBytes() - heapBefore).toBeLessThan(grownBytesMax));

  test.each(cases)('%s fails the requests that need it, and no others', async (name) => {
    const { clock, ask, close } = open();
    await server.answer(backend.good, [name]);
    const turns = countTurns(largeText);
    const failed = ask(victim);
    failed.catch(nothing); // awaited below
    expect(await ask('other')).toBe('served');
    const { outcome, tookMs } = await settle(clock, failed);
    expect(outcome).toMatchObject({ name: expect.stringMatching(`^${backend.error}$`) });
    expect(tookMs).toBeLessThanOrEqual(backend.limitMs + stepMs);
    const { bytesRead, connections, longest } = turns.end();
    expect(bytesRead).toBeLessThanOrEqual(connections * readBytesMax);
    expect(longest).toBeLessThanOrEqual(answerBytesMax);
    await server.answer(backend.good);
    clock.advance(backend.pauseMs);
    expect((await settle(clock, ask(victim))).outcome).toBe('served');
    close();
    expect(clock.waiting).toBe(0);
  });

  test.each(
    Object.keys(backend.readsNoBody ? { ...unusualAnswers, ...wrongBodies } : unusualAnswers).filter(
      // Its answer is too large for what is not read.
      (name) => !(backend.readsNoBody && /deep|many|long/.test(name)),
    ),
  )('%s is served as by any other', async (unusual) => {
    const { clock, ask, close } = open();
    await server.answer(backend.good, [unusual]);
    expect((await settle(clock, ask(victim))).outcome).toBe('served');
    close();
  });

  test('sends large answers to many at once has them parsed in turns of their own', async () => {
    if (backend.readsNoBody) return;
    const { clock, ask, close } = open();
    await server.answer(backend.good, ['sends a long text']);
    // Time passes with what is parsed.
    const turns = countTurns(largeText, (length) => clock.advance(length / charactersPerMs));
    const asked = Array.from({ length: 12 }, (_, at) => settle(clock, ask(`${victim}-${at}`)));
    await Promise.all(asked);
    const { parsed, longest } = turns.end();
    expect(longest).toBeGreaterThan(answerBytesMax / 2);
    expect(parsed).toBeLessThanOrEqual(2 * longest);
    close();
  });

  test('changes with each answer serves the requests that it answers well', async () => {
    const { clock, ask, close } = open();
    const all = Object.keys(backend.readsNoBody ? wrongStatuses : wrongBodies);
    await server.answer(
      backend.good,
      all.flatMap((name) => [name, undefined]),
    );
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
  server = await startHostileProcess();
  const ask = async ({ good, open }: Backend, ca: string): Promise<unknown> => {
    const clock = fakeClock();
    await server.answer(good);
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
