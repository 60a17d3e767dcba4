import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { systemClock } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { requestHeaders } from '@cluster-apiserver/testkit/http2-frames';
import { packed, text, get, useListener } from '../../test/listener.ts';

const serve = useListener();

/** In one iteration of the event loop, by what the lanes of `base/loop.ts` get and what these cost. */
const perTurn = { requestsMs: 2, handshakes: 2, connections: 1, endings: 100 };

/** A clock that a test moves, and whose `soon` callbacks wait for it once `byHand` is set. */
function clockByHand() {
  const turns: (() => void)[] = [];
  const state = { nowMs: 0, byHand: false };
  const clock = {
    ...systemClock,
    monotonicMs: () => state.nowMs,
    soon: (callback: () => void) => (state.byHand ? void turns.push(callback) : systemClock.soon(callback)),
  };
  const next = async (): Promise<void> => {
    await untilTurned(() => turns.length > 0);
    for (const turn of turns.splice(0)) turn();
  };
  return { clock, state, turns, next };
}

describe('turns', () => {
  test('end after some milliseconds, and connections alternate', async () => {
    const { clock, state, turns, next } = clockByHand();
    const handled: string[] = [];
    const served = await serve(({ target }) => {
      handled.push(target);
      state.nowMs += 2;
      return text('');
    }, clock);
    const other = served.http2();
    await once(other, 'connect');
    const greedy = await served.frames();
    const modest = await served.raw();
    await new Promise((resolve) => other.ping(resolve));
    state.byHand = true;
    greedy.send(
      Buffer.concat(Array.from({ length: 20 }, (_, i) => requestHeaders(2 * i + 1, packed.getOf(`/list${i}`)))),
    );
    await untilTurned(() => turns.length === 1);
    modest.send(get('/livez'));
    // Once later frames of another connection are answered, this request has been read.
    for (let n = 0; n < 5; n++) await new Promise((resolve) => other.ping(resolve));
    while (handled.length < 21) {
      const before = handled.length;
      await next();
      expect(handled.length - before).toBeLessThanOrEqual(Math.ceil(perTurn.requestsMs / 2));
    }
    expect(handled.indexOf('/livez')).toBeLessThanOrEqual(5);
    expect(handled.filter((target) => target !== '/livez')).toEqual(Array.from({ length: 20 }, (_, i) => `/list${i}`));
  });

  test('alternate between users, however many connections one of them has', async () => {
    const { clock, state, turns, next } = clockByHand();
    const handled: string[] = [];
    const served = await serve((request) => {
      request.takeTurnsAs(request.target.slice(1));
      handled.push(request.target);
      state.nowMs += 2;
      return text('');
    }, clock);
    const other = served.http2();
    await once(other, 'connect');
    const clients = await Promise.all(Array.from({ length: 40 }, () => served.raw()));
    const modest = await served.raw();
    const known = [...clients, modest];
    for (const client of known) client.send(get(client === modest ? '/modest' : '/greedy'));
    await untilTurned(() => known.every((client) => client.receivedBytes() > 0));
    handled.length = 0;
    state.byHand = true;
    for (const client of clients) client.send(get('/greedy'));
    await untilTurned(() => turns.length === 1);
    for (let n = 0; n < 5; n++) await new Promise((resolve) => other.ping(resolve));
    modest.send(get('/modest'));
    for (let n = 0; n < 5; n++) await new Promise((resolve) => other.ping(resolve));
    while (handled.length < known.length) await next();
    expect(handled.indexOf('/modest')).toBeLessThanOrEqual(5);
  });
});

describe('many connections at once', () => {
  /** A clock whose `soon` callbacks wait for `next`, after `hold`. The iteration that is held takes no time. */
  function heldTurns() {
    let isHeld = false;
    let heldMs = 0;
    const turns: (() => void)[] = [];
    return {
      clock: {
        ...systemClock,
        monotonicMs: () => (isHeld ? heldMs : systemClock.monotonicMs()),
        soon: (callback: () => void) => (isHeld ? void turns.push(callback) : systemClock.soon(callback)),
      },
      hold: () => {
        heldMs = systemClock.monotonicMs();
        isHeld = true;
      },
      next: () => {
        for (const turn of turns.splice(0)) turn();
      },
    };
  }

  test('handshakes begin a few per iteration of the event loop', async () => {
    const { clock, hold, next } = heldTurns();
    const served = await serve(() => text('well'), clock);
    const first = await served.raw();
    hold();
    const count = 3 * perTurn.handshakes;
    const begun = Array.from({ length: count }, () => connectTcp(served.listener.port, '127.0.0.1'));
    let secured = 0;
    for (const socket of begun) {
      await once(socket, 'connect');
      const tls = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
      tls.on('error', () => {});
      tls.on('secureConnect', () => (secured += 1));
    }
    for (let expected = perTurn.handshakes; expected <= count; expected += perTurn.handshakes) {
      await untilTurned(() => secured === expected);
      // Existing connections are read meanwhile.
      first.socket.write('x');
      await new Promise(setImmediate);
      expect(secured).toBe(expected);
      next();
    }
    for (const socket of begun) socket.destroy();
  });

  // Refused requests and the settings of a session do not wait for the scheduler.
  test.each(['HTTP/1.1', 'HTTP/2'])('new connections over %s are served a few per iteration', async (protocol) => {
    const { clock, hold, next } = heldTurns();
    const served = await serve(() => text('well'), clock);
    hold();
    const clients = await Promise.all(
      Array.from({ length: perTurn.handshakes }, () => (protocol === 'HTTP/2' ? served.frames() : served.raw())),
    );
    if (protocol === 'HTTP/1.1') for (const client of clients) client.send('broken\r\n\r\n');
    const answered = (): number => clients.filter((client) => client.receivedBytes() > 0).length;
    for (let expected = perTurn.connections; expected <= clients.length; expected += perTurn.connections) {
      await untilTurned(() => answered() === expected);
      await new Promise(setImmediate);
      expect(answered()).toBe(expected);
      next();
    }
  });

  test('connections with many requests end in separate iterations', async () => {
    const { clock, hold, next } = heldTurns();
    let begun = 0;
    let ended = 0;
    const served = await serve((request) => {
      begun += 1;
      request.onEnd(() => (ended += 1));
      return new Promise(() => {});
    }, clock);
    const clients = await Promise.all(Array.from({ length: 3 }, () => served.frames()));
    const each = perTurn.endings;
    for (const client of clients)
      client.send(Buffer.concat(Array.from({ length: each }, (_, at) => requestHeaders(2 * at + 1, packed.get))));
    await untilTurned(() => begun === 3 * each);
    hold();
    for (const client of clients) client.socket.end();
    for (let expected = each; expected <= 3 * each; expected += each) {
      await untilTurned(() => ended === expected);
      next();
    }
  });
});
