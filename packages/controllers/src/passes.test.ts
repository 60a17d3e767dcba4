import { expect, test } from '@jest/globals';
import { StorageUnavailableError } from '@cluster-apiserver/storage';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createPasses } from './passes.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const turns = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at++) await turn();
};

const failureOf = (work: Promise<void>): Promise<unknown> => work.catch((error: unknown) => error);

function open() {
  const term = new AbortController();
  const clock = fakeClock();
  const passes = createPasses(clock, term.signal);
  let begun = 0;
  let end = Promise.withResolvers<void>();
  const running = passes.run(() => {
    begun++;
    end = Promise.withResolvers<void>();
    return end.promise;
  });
  return {
    clock,
    term,
    passes,
    running,
    begun: () => begun,
    end: () => end.resolve(),
    fail: (e: Error) => end.reject(e),
  };
}

test('requests before a pass begins are one pass, and requests while it runs are one more', async () => {
  const { passes, begun, end, term, running } = open();
  passes.request();
  passes.request();
  expect(begun()).toBe(0);
  await turns(5);
  expect(begun()).toBe(1);
  passes.request();
  passes.request();
  await turns(5);
  expect(begun()).toBe(1);
  end();
  await turns(5);
  expect(begun()).toBe(2);
  end();
  await turns(5);
  expect(begun()).toBe(2);
  term.abort();
  await running;
});

test('a pass that fails ends the run with its error, unless the term has ended', async () => {
  const first = open();
  first.passes.request();
  await turns(5);
  const failure = failureOf(first.running);
  first.fail(new Error('broken'));
  expect(await failure).toEqual(new Error('broken'));

  const second = open();
  second.passes.request();
  await turns(5);
  second.term.abort();
  second.fail(new Error('aborted'));
  await second.running;
});

test('a pass under which memory was emptied ends, and the next request runs another', async () => {
  const { passes, begun, fail, end, term, running } = open();
  passes.request();
  await turns(5);
  fail(new StorageUnavailableError('etcd was replaced'));
  await turns(5);
  passes.request();
  await turns(5);
  expect(begun()).toBe(2);
  end();
  term.abort();
  await running;
});

test('passes rest for as long as the last one took', async () => {
  const { clock, passes, begun, end, term, running } = open();
  passes.request();
  await turns(5);
  passes.request();
  clock.advance(300);
  end();
  await turns(5);
  clock.advance(299);
  await turns(5);
  expect(begun()).toBe(1);
  clock.advance(1);
  await turns(5);
  expect(begun()).toBe(2);
  end();
  term.abort();
  await running;
  expect(clock.waiting).toBe(0);
});

test('a failure between passes ends the run', async () => {
  const { passes, running } = open();
  const failure = failureOf(running);
  passes.fail(new Error('broken'));
  passes.fail(new Error('and again'));
  expect(await failure).toEqual(new Error('broken'));
});
