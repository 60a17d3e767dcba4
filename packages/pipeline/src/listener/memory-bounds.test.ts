import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import type { ClientHttp2Stream } from 'node:http2';
import { type Pieces, BodyMemoryError, StalledClientError } from '../exchange.ts';
import {
  endHeaders,
  endStream,
  eventually,
  frame,
  fakeClock,
  http2Answer,
  packed,
  type Served,
  serve,
  expectServed,
  countingMeasures,
  initialWindow,
  text,
  get,
} from '../../test/listener.ts';
import * as limits from './limits.ts';

let served: Served;
afterEach(() => served.close());

describe('memory', () => {
  /** Pieces that tell how many of them were made. */
  function countedPieces(length: number): { readonly body: Pieces; made(): number } {
    let made = 0;
    return {
      made: () => made,
      body: {
        length,
        pieces: function* (pieceBytes, room) {
          for (let left = length; left > 0; ) {
            const piece = room(Math.min(left, pieceBytes)).fill(0x61);
            made += piece.length;
            left -= piece.length;
            yield piece;
          }
        },
      },
    };
  }

  test('of a client with a closed window is one first piece per stream', async () => {
    const bodies = Array.from({ length: 100 }, () => countedPieces(1_000_000));
    let begun = 0;
    served = await serve(() => ({ status: 200, headers: {}, body: (bodies[begun++] as { body: Pieces }).body }));
    const client = await served.frames();
    client.send(frame('SETTINGS', 0, 0, initialWindow(0)));
    client.send(Buffer.concat(bodies.map((_, i) => frame('HEADERS', endHeaders | endStream, 2 * i + 1, packed.get))));
    await eventually(() => bodies.every(({ made }) => made() > 0));
    expect(Math.max(...bodies.map(({ made }) => made()))).toBe(limits.firstPieceBytes);
  });

  test('of one connection is bounded for any number of responses', async () => {
    const bodies: ReturnType<typeof countedPieces>[] = [];
    served = await serve(() => {
      const body = countedPieces(50_000_000);
      bodies.push(body);
      return { status: 200, headers: {}, body: body.body };
    });
    const client = await served.frames();
    client.socket.pause();
    // Windows as large as they get, so that only the connection itself stalls.
    client.send(frame('SETTINGS', 0, 0, initialWindow(2 ** 31 - 1)));
    client.send(frame('WINDOW_UPDATE', 0, 0, Buffer.from([0x7f, 0xff, 0, 0])));
    client.send(
      Buffer.concat(
        Array.from({ length: limits.defaultStreamsMax }, (_, i) =>
          frame('HEADERS', endHeaders | endStream, 2 * i + 1, packed.get),
        ),
      ),
    );
    await eventually(() => bodies.length === limits.defaultStreamsMax);
    let before = -1;
    const made = (): number => bodies.reduce((sum, body) => sum + body.made(), 0);
    // Until the kernel's buffers are full as well.
    await eventually(() => {
      const now = made();
      const stands = now === before;
      before = now;
      return stands && now > 0;
    });
    // The kernel's buffers of both sides do not count.
    expect(made()).toBeLessThan(limits.connectionResponseBytesMax + 24_000_000);
  });

  test('of pipelined requests is that of the first response', async () => {
    const bodies: ReturnType<typeof countedPieces>[] = [];
    served = await serve(() => {
      const body = countedPieces(20_000_000);
      bodies.push(body);
      return { status: 200, headers: {}, body: body.body };
    });
    const client = await served.raw();
    client.socket.pause();
    client.send(get('/').repeat(limits.pipelinedRequestsMax));
    await eventually(() => (bodies[0]?.made() ?? 0) > 0);
    await expectServedHead();
    // That of the other connection, of which nothing is made either.
    expect(bodies.slice(1).map(({ made }) => made())).toEqual([0]);
    client.socket.resume();
    await eventually(() => (bodies[2]?.made() ?? 0) > 0);
  });

  async function expectServedHead(): Promise<void> {
    const client = await served.raw();
    client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(/^HTTP\/1\.1 200 /);
  }

  test('of a response to a request with an endless body is bounded like any other', async () => {
    const body = countedPieces(100_000_000);
    served = await serve(() => ({ status: 200, headers: {}, body: body.body }));
    const client = await served.raw();
    client.socket.pause();
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n');
    await eventually(() => body.made() > 0);
    let before = -1;
    await eventually(() => {
      const stands = body.made() === before;
      before = body.made();
      return stands;
    });
    expect(body.made()).toBeLessThan(24_000_000);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])('an unread stream over %s is cut off after its end', async (protocol) => {
    const clock = fakeClock();
    const { measures, counted } = countingMeasures();
    let signal: AbortSignal | undefined;
    const ends: unknown[] = [];
    served = await serve(
      (request) => {
        request.onEnd((end) => ends.push(end));
        return {
          status: 200,
          headers: {},
          body: {
            stream: async (sink) => {
              for (let n = 0; n < 300; n++) sink.write(Buffer.alloc(100_000));
              ({ signal } = sink);
            },
          },
        };
      },
      clock,
      { measures },
    );
    if (protocol === 'HTTP/1.1') {
      const client = await served.raw();
      client.socket.pause();
      client.send(get('/'));
    } else {
      const client = await served.frames();
      client.send(frame('SETTINGS', 0, 0, initialWindow(0)));
      client.send(frame('HEADERS', endHeaders | endStream, 1, packed.get));
    }
    await eventually(() => signal !== undefined);
    await eventually(() => {
      clock.advance(limits.sweepMs);
      return ends.length === 1;
    });
    expect(counted).toEqual(['cut off stalled']);
    expect(ends).toEqual([{ outcome: 'aborted', bodyBytes: 30_000_000 }]);
    // A watch then ends as stalled, and not because its client left.
    expect(signal?.reason).toBeInstanceOf(StalledClientError);
  });

  test('full of unread responses cuts off the stalled ones', async () => {
    const clock = fakeClock();
    const { measures, counted } = countingMeasures();
    const piece = limits.firstPieceBytes;
    const connections = Math.ceil(limits.responseBytesMax / (limits.defaultStreamsMax * piece)) + 1;
    let begun = 0;
    served = await serve(
      ({ target }) => {
        if (target !== '/') return text('well');
        begun += 1;
        return { status: 200, headers: {}, body: countedPieces(1_000_000).body };
      },
      clock,
      { measures },
    );
    for (let n = 0; n < connections; n++) {
      const client = await served.frames();
      client.send(frame('SETTINGS', 0, 0, initialWindow(0)));
      client.send(
        Buffer.concat(
          Array.from({ length: limits.defaultStreamsMax }, (_, i) =>
            frame('HEADERS', endHeaders | endStream, 2 * i + 1, packed.get),
          ),
        ),
      );
    }
    await eventually(() => begun === connections * limits.defaultStreamsMax);
    // A polite client waits for memory, and gets it.
    const large = http2Answer(served.http2().request({ ':path': '/' }));
    await eventually(() => {
      clock.advance(limits.sweepMs);
      return counted.includes('cut off memory');
    });
    expect((await large).body.length).toBe(1_000_000);
    await expectServed(served);
    const cutOff = counted.filter((what) => what === 'cut off memory').length * piece;
    // Half of the memory becomes free, and no more than that.
    expect(cutOff).toBeGreaterThanOrEqual(limits.responseBytesMax / 2);
    expect(cutOff).toBeLessThan(limits.responseBytesMax);
  });

  test('full of unfinished uploads refuses the oldest ones', async () => {
    const { measures, counted } = countingMeasures();
    const bytes = 2_900_000;
    served = await serve(
      async (request) => {
        const outcome = await request.body(3_000_000).catch((error: unknown) => error);
        return outcome instanceof BodyMemoryError ? text('later', 429) : text('well');
      },
      systemClock,
      { measures },
    );
    const perConnection = Math.floor(limits.connectionBodyBytesMax / bytes) - 1;
    const uploads: ClientHttp2Stream[] = [];
    while (uploads.length * bytes <= limits.bodyBytesMax + bytes) {
      const session = served.http2();
      for (let n = 0; n < perConnection; n++) {
        const stream = session.request({ ':method': 'POST', ':path': '/' });
        stream.on('error', () => {});
        stream.write(Buffer.alloc(bytes));
        uploads.push(stream);
      }
    }
    await eventually(() => counted.includes('body memory'));
    const polite = served.http2().request({ ':method': 'POST', ':path': '/' });
    polite.end(Buffer.alloc(bytes));
    expect((await http2Answer(polite)).status).toBe(200);
    await expectServed(served);
    for (const stream of uploads) stream.close();
  });

  test('for bodies that is exhausted refuses the oldest body', async () => {
    const { measures, counted } = countingMeasures();
    const outcomes: unknown[] = [];
    served = await serve(
      async (request) => {
        const outcome = await request.body(3_000_000).catch((error: unknown) => error);
        outcomes.push(Buffer.isBuffer(outcome) ? outcome.length : outcome);
        return outcome instanceof BodyMemoryError ? text('later', 429) : text('');
      },
      systemClock,
      { measures },
    );
    const session = served.http2();
    const uploads = Math.ceil(limits.connectionBodyBytesMax / 2_900_000);
    const slow = Array.from({ length: uploads }, () => {
      const stream = session.request({ ':method': 'POST', ':path': '/' });
      stream.write(Buffer.alloc(2_900_000));
      return stream;
    });
    const refused = await Promise.race(slow.map((stream) => http2Answer(stream)));
    expect(refused.status).toBe(429);
    expect(counted).toEqual(['body memory']);
    expect(outcomes).toEqual([expect.any(BodyMemoryError)]);
    for (const stream of slow) stream.end();
    await eventually(() => outcomes.length === uploads);
    expect(outcomes.slice(1)).toEqual(Array(uploads - 1).fill(2_900_000));
  });
});
