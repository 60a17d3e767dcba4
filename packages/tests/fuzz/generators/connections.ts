import type { Random } from '@cluster-apiserver/base';
import type { RawCase } from '../../test/hostile/case.ts';
import { bytesOf, choose } from '../../test/hostile/choose.ts';
import {
  data,
  type Field,
  frame,
  frames,
  headers,
  literals,
  ping,
  preface,
  requestHeaders,
  resetStream,
  settingsFrame,
  windowUpdate,
} from '@cluster-apiserver/testkit/http2-frames';
import { http1Cases } from '../../test/hostile/http1-cases.ts';
import { http2Cases } from '../../test/hostile/http2-cases.ts';
import { hostileRequest, type Request } from '../../test/hostile/requests.ts';
import type { FuzzContext } from '../input.ts';
import type { Generator } from './generator.ts';
import { collectionPath } from './targets.ts';

export const http1Bytes: Generator = (random, { token }) => ({
  form: 'connection',
  case: choose(random, http1Cases)(random, token),
});

export const http2Bytes: Generator = (random, { token }) => {
  for (;;) {
    const one = choose(random, http2Cases)(random, token);
    // Well-framed requests with hostile content share connections.
    if (one.over !== 'h2 client') return { form: 'connection', case: one };
  }
};

/** A random HTTP/2 session: some faults need a particular order of frames or a large number of them. */
export const http2Frames: Generator = (random, context) => {
  const session = new Session(random, context);
  for (let steps = 2 + random.below(choose(random, [4, 15, 60])); steps > 0; steps--)
    choose(random, sessionSteps)(session);
  return {
    form: 'connection',
    case: {
      kind: 'a sequence of frames',
      over: 'h2',
      pieces: session.pieces(),
      end: random.below(6) === 0 ? 'tear' : 'shut',
      method: undefined,
    } satisfies RawCase,
  };
};

const dataBytesMax = 16_384;

class Session {
  readonly random: Random;
  readonly #context: FuzzContext;
  readonly #written: Buffer[] = [];
  readonly #open: number[] = [];
  /** Creating a block takes longer than sending all frames that use it. */
  readonly #blocks: readonly Buffer[];
  #nextStream = 1;

  constructor(random: Random, context: FuzzContext) {
    this.random = random;
    this.#context = context;
    this.#blocks = [this.#newBlock(), this.#newBlock()];
  }

  send(...sent: readonly Buffer[]): void {
    this.#written.push(...sent);
  }

  newStream(): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#open.push(stream);
    return stream;
  }

  /** An open stream, a closed one, or one that never existed. */
  anyStream(): number {
    return this.random.below(8) === 0
      ? choose(this.random, [0, 2, this.#nextStream + 100, 2 ** 31 - 1])
      : choose(this.random, this.#open.length > 0 ? this.#open : [1]);
  }

  block(more: readonly Field[] = []): Buffer {
    const known = choose(this.random, this.#blocks);
    return more.length === 0 ? known : Buffer.concat([known, literals(more)]);
  }

  #newBlock(): Buffer {
    const request = this.#request();
    return literals([
      [':method', request.method],
      [':path', request.target],
      [':scheme', 'https'],
      [':authority', '127.0.0.1'],
      ...request.headers,
    ]);
  }

  #request(): Request {
    if (this.random.below(3) === 0) return hostileRequest(this.random, this.#context.token);
    const target = collectionPath(this.random);
    const method = choose(this.random, ['GET', 'POST']);
    return { method, target, headers: [['authorization', `Bearer ${this.#context.token}`]], body: undefined };
  }

  /** Frames are distributed randomly over writes: the boundaries decide what the server reads at once. */
  pieces(): Buffer[] {
    const pieces = [preface, settingsFrame(choose(this.random, initialSettings))];
    for (let at = 0; at < this.#written.length; ) {
      const count = choose(this.random, [1, 2, 5, 10, 25, 1_000]);
      pieces.push(Buffer.concat(this.#written.slice(at, at + count)));
      at += count;
    }
    return pieces;
  }
}

type Settings = readonly (readonly [id: number, value: number])[];
const one = (id: number, value: number): Settings => [[id, value]];
const initialSettings: readonly Settings[] = [
  ...[[], [], [], one(4, 0), one(4, 1), one(4, 2 ** 31 - 1), one(1, 0), one(1, 2 ** 32 - 1), one(2, 1), one(3, 0)],
  ...[one(5, 16_384), one(5, 2 ** 24 - 1), one(6, 1), one(8, 1), one(0xffff, 1)],
];
const changedSettings: readonly Settings[] = [
  ...initialSettings,
  ...[
    one(4, 2 ** 31),
    one(5, 0),
    one(2, 2),
    [...one(4, 0), ...one(4, 1), ...one(4, 100_000)],
    [...one(1, 0), ...one(1, 4_096)],
  ],
];

const padded = (type: number, flags: number, stream: number, payload: Buffer, padding: number): Buffer =>
  frame(type, flags | 8, stream, Buffer.concat([Buffer.from([padding]), payload, Buffer.alloc(padding)]));

type Step = (session: Session) => void;

const open: Step = (session) =>
  session.send(requestHeaders(session.newStream(), session.block(), session.random.below(2) === 0));

const upload: Step = (session) => {
  const { random } = session;
  const content = Buffer.from('{"metadata":{"name":"n1"}}'.padEnd(choose(random, [26, 50, 1_000]), ' '));
  const declared = choose(random, [content.length, content.length, content.length + 24, 1, 0, 10_000_000]);
  const stream = session.newStream();
  session.send(
    headers(
      stream,
      session.block([
        ['content-type', 'application/json'],
        ['content-length', `${declared}`],
      ]),
      4,
    ),
  );
  for (let at = 0; at < content.length; ) {
    const piece = content.subarray(at, at + 1 + random.below(content.length));
    at += piece.length;
    session.send(data(stream, piece, at === content.length && random.below(6) > 0 ? 1 : 0));
  }
};

/** A rapid series of streams whose bodies are shorter or longer than declared. */
const wrongLengths: Step = (session) => {
  const declared = choose(session.random, ['50', '0', '1']);
  for (let count = 2 + session.random.below(20); count > 0; count--) {
    const stream = session.newStream();
    session.send(
      headers(stream, session.block([['content-length', declared]]), 4),
      data(stream, Buffer.from('xy'.slice(session.random.below(2))), 1),
    );
  }
};

const sessionSteps: readonly Step[] = [
  ...[open, open, open, open, upload, upload, upload, wrongLengths],
  (session) => session.send(resetStream(session.anyStream(), choose(session.random, [0, 1, 2, 5, 7, 8, 11, 99]))),
  (session) => {
    const stream = session.newStream();
    session.send(requestHeaders(stream, session.block(), true), resetStream(stream));
  },
  (session) =>
    session.send(windowUpdate(session.anyStream(), choose(session.random, [0, 1, 65_535, 2 ** 31 - 1, 2 ** 32 - 1]))),
  (session) => {
    const stream = session.anyStream();
    session.send(...Array.from({ length: 50 }, () => windowUpdate(stream, 1)));
  },
  (session) => session.send(settingsFrame(choose(session.random, changedSettings))),
  (session) => session.send(frame(frames.settings, 1, 0, Buffer.alloc(0))), // acknowledges settings that were not sent
  (session) => session.send(ping(Buffer.alloc(8)), ping(Buffer.alloc(8))),
  (session) =>
    session.send(data(session.anyStream(), Buffer.alloc(session.random.below(3) * 8_000), session.random.below(2))),
  (session) =>
    session.send(...Array.from({ length: 6 }, () => data(session.anyStream(), Buffer.alloc(dataBytesMax), 0))),
  (session) => session.send(...Array.from({ length: 30 }, () => data(session.anyStream(), Buffer.alloc(0), 0))),
  (session) => session.send(padded(frames.data, 0, session.anyStream(), Buffer.from('{}'), session.random.below(256))),
  (session) => session.send(padded(frames.headers, 5, session.newStream(), session.block(), session.random.below(256))),
  (session) => {
    // A fragmented header block, possibly with a forbidden frame in between.
    const block = session.block();
    const stream = session.newStream();
    const at = session.random.below(block.length);
    session.send(headers(stream, block.subarray(0, at), 1));
    if (session.random.below(3) === 0) session.send(ping(Buffer.alloc(8)));
    session.send(frame(frames.continuation, session.random.below(4) > 0 ? 4 : 0, stream, block.subarray(at)));
  },
  (session) => {
    // Priority in the HEADERS frame, on another stream or on itself.
    const stream = session.newStream();
    const priority = Buffer.alloc(5);
    priority.writeUInt32BE(choose(session.random, [0, stream, 2 ** 31 + 1, 99]));
    session.send(frame(frames.headers, 5 | 32, stream, Buffer.concat([priority, session.block()])));
  },
  (session) => session.send(headers(session.anyStream(), session.block(), 5)), // a second time, or as trailers
  (session) =>
    session.send(
      headers(
        session.anyStream(),
        literals([
          ['x-trailer', 'a'],
          [':path', '/'],
        ]),
        5,
      ),
    ),
  (session) =>
    session.send(
      frame(
        session.random.below(256),
        session.random.below(256),
        session.anyStream(),
        bytesOf(session.random, session.random.below(40)),
      ),
    ),
  (session) => {
    const whole = data(session.anyStream(), Buffer.from('{}'), 1);
    whole.writeUIntBE(choose(session.random, [0, 1, 3, 16_385, 2 ** 24 - 1]), 0, 3); // a wrong length
    session.send(whole);
  },
  (session) => session.send(frame(frames.goaway, 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, session.random.below(14)]))),
];
