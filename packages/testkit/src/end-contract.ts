import { expect, test } from '@jest/globals';

/** An end of any kind, and how a test subscribes to it. */
interface TestedEnd {
  /** Returns how to cancel the subscription, if that is possible. */
  subscribe(listener: () => void): (() => void) | void;
  /** Ends it. May be called again, which has no effect. */
  end(): void | Promise<void>;
}

/** What each subscription to an end promises: it is called back once, whether the end comes before it or after it. */
export function describeEnd(name: string, open: () => TestedEnd | Promise<TestedEnd>): void {
  test(`${name}: listeners are called once, in order, when the end is reached`, async () => {
    const ended = await open();
    const called: string[] = [];
    ended.subscribe(() => called.push('a'));
    ended.subscribe(() => called.push('b'));
    expect(called).toEqual([]);
    await ended.end();
    await ended.end();
    expect(called).toEqual(['a', 'b']);
  });

  test(`${name}: a listener that is added after the end is called at once`, async () => {
    const ended = await open();
    await ended.end();
    const called: string[] = [];
    const cancel = ended.subscribe(() => called.push('late'));
    expect(called).toEqual(['late']);
    cancel?.();
    await ended.end();
    expect(called).toEqual(['late']);
  });

  test(`${name}: a listener that a listener adds is called`, async () => {
    const ended = await open();
    const called: string[] = [];
    ended.subscribe(() => {
      called.push('outer');
      ended.subscribe(() => called.push('inner'));
    });
    await ended.end();
    expect(called).toEqual(['outer', 'inner']);
  });

  test(`${name}: the same function is called once for each subscription, and never after it is cancelled`, async () => {
    const ended = await open();
    const called: string[] = [];
    const listener = (): void => void called.push('same');
    ended.subscribe(listener);
    const cancel = ended.subscribe(listener);
    cancel?.();
    await ended.end();
    expect(called).toHaveLength(cancel ? 1 : 2);
  });
}
