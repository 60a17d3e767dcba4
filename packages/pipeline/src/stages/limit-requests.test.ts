import { beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, systemClock } from '@cluster-apiserver/base';
import { createSimpleLimits, type FlowControl, mastersGroup } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { sourceOf } from '../../test/body-source.ts';
import type { BodySource } from '../body-source.ts';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import type { RequestKind } from './in-flight-measures.ts';
import { limitRequests } from './limit-requests.ts';

interface Working {
  readonly answer: (response: ApiResponse) => void;
  readonly fail: (error: unknown) => void;
}
const ok: ApiResponse = { status: 200, headers: {} };

const next = async ({ body }: ApiResponse) => (body as BodySource).next(1_000, Buffer.allocUnsafe);

let working: Working[];
let control: FlowControl;
/** Requests in flight, as the metric has them. */
let inFlight: Record<RequestKind, number>;
let rejected: string[];
beforeEach(() => {
  working = [];
  inFlight = { readOnly: 0, mutating: 0 };
  rejected = [];
});

function limitedTo(readOnly: number, mutating: number, work: Handler<AuthenticatedContext>) {
  control = createSimpleLimits(systemClock, { readOnly, mutating });
  return limitRequests(
    { control, seatsOf: () => 1 },
    {
      used: (kind, requests) => {
        inFlight[kind] = requests;
      },
      refused: () => {},
      rejected: (kind, { info: { verb } }) => void rejected.push(`${kind} ${verb}`),
    },
    work,
  );
}

const used = (kind: RequestKind): number => [...control.levels].find(({ name }) => name === kind)?.used ?? 0;

const limited = (readOnly: number, mutating: number): Handler<AuthenticatedContext> =>
  limitedTo(readOnly, mutating, () => new Promise((answer, fail) => working.push({ answer, fail })));

const asked = (verb: string, name = 'ann', groups: readonly string[] = []): AuthenticatedContext =>
  ({
    auditId: 'a',
    info: { verb, path: '/' },
    user: { name, groups },
    request: { takeTurnsAs: () => {} },
    call: callUntil(systemClock.monotonicMs() + 60_000),
  }) as unknown as AuthenticatedContext;

/** A request that got no answer has got a seat. */
async function isRejected(response: ApiResponse | Promise<ApiResponse>): Promise<boolean> {
  const first = await Promise.race([response, new Promise<undefined>((resolve) => setImmediate(resolve, undefined))]);
  return first?.status === 429;
}

test.each([
  ['get', 'readOnly'],
  ['list', 'readOnly'],
  ['create', 'mutating'],
  ['update', 'mutating'],
  ['patch', 'mutating'],
  ['delete', 'mutating'],
  ['deletecollection', 'mutating'],
  ['post', 'mutating'],
  ['head', 'mutating'],
] as const)('%s takes a %s seat, and one too many gets 429', async (verb, kind) => {
  const ask = limited(2, 2);
  const first = ask(asked(verb));
  void ask(asked(verb));
  expect(used(kind)).toBe(2);
  expect(await ask(asked(verb))).toEqual({
    status: 429,
    headers: {
      'audit-id': 'a',
      'cache-control': 'no-cache, private',
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'retry-after': '1',
    },
    body: Buffer.from('Too many requests, please try again later.\n'),
  });
  expect(rejected).toEqual([`${kind} ${verb}`]);
  working[0]?.answer(ok);
  expect(await first).toBe(ok);
  expect(await isRejected(ask(asked(verb)))).toBe(false);
});

test('reads and writes have separate seats', async () => {
  const ask = limited(1, 1);
  for (const verb of ['get', 'create']) expect(await isRejected(ask(asked(verb)))).toBe(false);
  for (const verb of ['list', 'delete']) expect(await isRejected(ask(asked(verb)))).toBe(true);
});

test('watches take no seat, and a limit of 0 means no limit', async () => {
  const ask = limited(1, 0);
  for (let i = 0; i < 5; i++) {
    expect(await isRejected(ask(asked('watch')))).toBe(false);
    expect(await isRejected(ask(asked('create')))).toBe(false);
  }
  expect(inFlight).toEqual({ readOnly: 0, mutating: 5 });
  expect(used('mutating')).toBe(0);
});

test('a member of system:masters is never rejected', async () => {
  const ask = limited(1, 1);
  void ask(asked('get'));
  expect(await isRejected(ask(asked('get', 'root', [mastersGroup])))).toBe(false);
  expect(await isRejected(ask(asked('get', 'root', ['system:mastersx'])))).toBe(true);
});

test.each(['create', 'watch'])('refusals of %s by a later stage are held back when there are many', async (verb) => {
  const refusal = new StatusError('TooManyRequests', 'too many events');
  const ask = limitedTo(1, 1, () => {
    throw refusal;
  });
  const left = new AbortController();
  const answers: Promise<unknown>[] = [];
  let atOnce = 0;
  for (let at = 0; at < 300; at++)
    try {
      const call = { ...callUntil(systemClock.monotonicMs() + 60_000), signal: left.signal };
      answers.push(Promise.resolve(ask({ ...asked(verb), call })));
    } catch (error) {
      expect(error).toBe(refusal);
      atOnce++;
    }
  expect(atOnce).toBeGreaterThan(0);
  expect(answers.length).toBeGreaterThan(0);
  expect(used('mutating')).toBe(0);
  left.abort();
  for (const { status, reason } of (await Promise.allSettled(answers)) as PromiseRejectedResult[])
    expect([status, reason]).toEqual(['rejected', refusal]);
});

describe('a seat is released', () => {
  test('when the handler throws or rejects', async () => {
    const ask = limited(1, 1);
    const late = ask(asked('get'));
    working[0]?.fail(new Error('late'));
    await expect(late).rejects.toThrow('late');
    const now = limitedTo(1, 1, () => {
      throw new Error('now');
    });
    for (let i = 0; i < 3; i++) expect(() => now(asked('get'))).toThrow('now');
    expect(used('readOnly')).toBe(0);
  });

  test('is released while a client does not read a generated body, and acquired for the next piece', async () => {
    const ask = limited(1, 1);
    const seatsAtWork: number[] = [];
    const pieces = async function* (): AsyncGenerator<Buffer> {
      for (let i = 0; i < 2; i++) {
        await Promise.resolve();
        seatsAtWork.push(used('readOnly'));
        yield Buffer.from(String(i));
      }
    };
    const answered = ask(asked('list'));
    working[0]?.answer({ ...ok, body: sourceOf(pieces()) });
    const response = await answered;
    expect(used('readOnly')).toBe(0);
    while (await next(response)) expect(used('readOnly')).toBe(0);
    expect(seatsAtWork).toEqual([1, 1]);
    expect(used('readOnly')).toBe(0);
  });

  test('when a client disconnects between pieces, or a piece fails', async () => {
    const ask = limited(1, 1);
    let closed = false;
    const pieces = async function* (): AsyncGenerator<Buffer> {
      try {
        yield Buffer.from('a');
        throw new Error('broken');
      } finally {
        closed = true;
      }
    };
    for (const leaves of [true, false]) {
      const answered = ask(asked('list'));
      working.pop()?.answer({ ...ok, body: sourceOf(pieces()) });
      const response = await answered;
      await next(response);
      if (!leaves) await expect(next(response)).rejects.toThrow('broken');
      (response.body as BodySource).close();
      await new Promise(setImmediate);
      expect([closed, used('readOnly')]).toEqual([true, 0]);
    }
  });
});

describe('while its body arrives a write', () => {
  /** Writes that wait for a body in the middle of their work. */
  function receiving(mutating: number) {
    const arrive: (() => void)[] = [];
    const finish: (() => void)[] = [];
    const ask = limitedTo(1, mutating, async ({ seat }) => {
      seat?.release();
      await new Promise<void>((resolve) => arrive.push(resolve));
      await seat?.reacquire();
      await new Promise<void>((resolve) => finish.push(resolve));
      return ok;
    });
    const turn = (): Promise<void> => new Promise(setImmediate);
    return { ask, arrive: (count: number) => (arrive.splice(0, count).forEach((body) => body()), turn()), finish };
  }

  test('holds no seat, and acquires one when its body is complete', async () => {
    const { ask, arrive, finish } = receiving(2);
    const answers = Array.from({ length: 50 }, async (_, i) => ask(asked('create', `user ${i}`)));
    expect(used('mutating')).toBe(0);
    await arrive(2);
    expect(used('mutating')).toBe(2);
    finish.splice(0).forEach((done) => done());
    expect(await Promise.all(answers.slice(0, 2))).toEqual([ok, ok]);
    expect(used('mutating')).toBe(0);
    await arrive(2);
    expect([used('mutating'), rejected]).toEqual([2, []]);
  });

  test('gets 429 if all seats are taken by then, except for system:masters', async () => {
    const { ask, arrive, finish } = receiving(1);
    const [first, second, master] = [
      asked('create'),
      asked('patch', 'bob'),
      asked('update', 'root', [mastersGroup]),
    ].map(async (context) => ask(context));
    await arrive(3);
    expect(await second).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect([used('mutating'), rejected]).toEqual([1, ['mutating patch']]);
    finish.forEach((done) => done());
    expect(await Promise.all([first, master])).toEqual([ok, ok]);
    expect(used('mutating')).toBe(0);
  });
});
