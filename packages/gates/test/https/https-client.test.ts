import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import tls from 'node:tls';
import { callUntil, DeadlineExceededError, seededRandom } from '@cluster-apiserver/base';
import { createHttpsClient, createTokenWebhook } from '../../src/index.ts';
import type { HttpsClient, HttpsRequest } from '../../src/https/https-client.ts';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type Answer, type Provider, startProvider } from '../oidc/provider.ts';

let provider: Provider;
let clock: FakeClock;
let client: HttpsClient;
const call = callUntil(Number.POSITIVE_INFINITY);

beforeAll(async () => {
  provider = await startProvider();
});
beforeEach(() => {
  provider.asked.length = 0;
  clock = fakeClock(0);
  client = createHttpsClient({ clock, ca: provider.certificateAuthority, connectionsMax: 2 });
});
afterEach(() => {
  provider.answers.clear();
  client.close();
});
afterAll(() => provider.close());

const request = (path: string): HttpsRequest => ({
  method: 'POST',
  url: new URL(`${provider.url}${path}`),
  body: '{}',
  bodyBytesMax: 1_000,
  timeoutMs: 10_000,
});
/** Answers nothing until the test has seen that it was asked. */
const silent = (path: string): Promise<Answer> =>
  new Promise((resolve) => void provider.answers.set(path, (answer) => resolve(answer)));

describe('A request to an external server', () => {
  test('returns the response, whatever its status', async () => {
    provider.answers.set('/a', (answer) => answer.writeHead(404).end('no'));
    expect(await client.send(request('/a'), call)).toEqual({ status: 404, body: 'no' });
  });

  test.each<[string, (answer: Answer) => void, string]>([
    ['is too large', (answer) => answer.end('x'.repeat(1_001)), 'larger than 1000 bytes'],
    ['breaks off', (answer) => (answer.write('half'), setImmediate(() => answer.destroy())), 'the answer broke off'],
    ['never comes', (answer) => void answer.destroy(), 'cannot be reached'],
  ])('fails when its answer %s', async (_, respond, message) => {
    provider.answers.set('/a', respond);
    await expect(client.send(request('/a'), call)).rejects.toThrow(message);
  });

  test('costs no new reading of the CAs, however many connections are opened', async () => {
    const { createSecureContext } = tls;
    let contexts = 0;
    tls.createSecureContext = (options) => (contexts++, createSecureContext(options));
    try {
      const [one, other] = [createHttpsClient({ clock }), createHttpsClient({ clock })];
      for (const strange of [one, other, one, other])
        await expect(strange.send(request('/a'), call)).rejects.toThrow('cannot be reached');
      const before = contexts;
      expect(before).toBeLessThanOrEqual(1);
      provider.answers.set('/a', (answer) => answer.writeHead(200, { connection: 'close' }).end('yes'));
      for (let asked = 0; asked < 3; asked++) expect((await client.send(request('/a'), call)).status).toBe(200);
      expect(contexts - before).toBe(1);
      one.close();
      other.close();
    } finally {
      tls.createSecureContext = createSecureContext;
    }
  });

  test('is retried on a new connection when the server closes the kept-alive one', async () => {
    provider.answers.set('/a', (answer) => answer.end('first'));
    expect(await client.send(request('/a'), call)).toEqual({ status: 200, body: 'first' });
    let times = 0;
    provider.answers.set('/a', (answer) => (times++ === 0 ? answer.destroy() : answer.end('second')));
    expect(await client.send(request('/a'), call)).toEqual({ status: 200, body: 'second' });
    expect(times).toBe(2);
  });

  test('fails at its timeout, or at the deadline of its call if that comes first', async () => {
    for (const [deadlineMs, expected] of [
      [Number.POSITIVE_INFINITY, 'no answer in 10000 ms'],
      [5_000, new DeadlineExceededError().message],
    ] as const) {
      const asked = silent('/a');
      const answer = client.send(request('/a'), callUntil(clock.monotonicMs() + deadlineMs));
      await asked;
      clock.advance(Math.min(deadlineMs, 10_000));
      await expect(answer).rejects.toThrow(expected);
    }
  });

  test('is aborted when the caller disconnects or the client is closed', async () => {
    const gone = new AbortController();
    const asked = silent('/a');
    const answer = client.send(request('/a'), { ...call, signal: gone.signal });
    await asked;
    gone.abort(new Error('the client left'));
    await expect(answer).rejects.toThrow('the client left');
    const askedAgain = silent('/a');
    const another = client.send(request('/a'), call);
    await askedAgain;
    client.close();
    await expect(another).rejects.toThrow('cannot be reached');
  });

  test('is sent over TLS only', async () => {
    const plain = { ...request('/a'), url: new URL('http://localhost:1/') };
    await expect(client.send(plain, call)).rejects.toThrow('only https');
  });
});

describe('A token webhook', () => {
  const tokens = () =>
    createTokenWebhook({
      connection: () => ({ client, url: new URL(`${provider.url}/review`), bearerToken: undefined }),
      clock,
      random: seededRandom(1),
      signal: new AbortController().signal,
      version: 'v1',
      apiAudiences: [],
      reviewed: () => {},
    });

  test('is not called again once the caller has disconnected between two attempts', async () => {
    provider.answers.set('/review', (answer) => answer.writeHead(503).end());
    const gone = new AbortController();
    const answer = tokens().authenticateToken('a', { ...call, signal: gone.signal });
    while (clock.waiting === 0 || provider.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    gone.abort(new Error('the client left'));
    await expect(answer).rejects.toThrow('the client left');
    expect(provider.asked).toEqual(['/review']);
  });

  test('ends with the deadline of its call, which does not reject the token', async () => {
    const asked = silent('/review');
    const answer = tokens().authenticateToken('a', callUntil(1_000));
    await asked;
    clock.advance(1_000);
    await expect(answer).rejects.toThrow(DeadlineExceededError);
  });
});
