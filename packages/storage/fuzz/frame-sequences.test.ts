import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { repetitions, soaking } from '@cluster-apiserver/testkit/soak';
import { Connection } from '../src/etcd/http2/connection.ts';
import type { Stream, StreamListener } from '../src/etcd/http2/stream.ts';
import { runFrameSequence } from './frame-sequences.ts';

/** Undefined when all of them are well. */
function firstFault(sequences: number, OwnConnection?: typeof Connection): string | undefined {
  for (let seed = 1; seed <= sequences; seed++) {
    try {
      runFrameSequence(seededRandom(seed), OwnConnection);
    } catch (error) {
      return `seed ${seed}: ${String(error)}`;
    }
  }
  return undefined;
}

const sequences = repetitions({ ci: 500, soak: 1_000_000 });
const patienceMs = soaking ? 7_200_000 : 300_000;

test(
  'whatever frames come in whatever order, calls end once and rightly, and the rules are kept',
  () => {
    expect(firstFault(sequences)).toBeUndefined();
  },
  patienceMs,
);

/** A connection with listeners of other events. */
const telling = (differently: (listener: StreamListener) => Partial<StreamListener>): typeof Connection =>
  class extends Connection {
    override open(headers: Buffer, listener: StreamListener): Stream {
      const all: StreamListener = {
        onHeaders: (fields) => listener.onHeaders(fields),
        onData: (piece) => listener.onData(piece),
        onEnd: () => listener.onEnd(),
        onLost: (kind, cause) => listener.onLost(kind, cause),
      };
      return super.open(headers, { ...all, ...differently(listener) });
    }
  };

test.each<{ what: string; OwnConnection: typeof Connection; fault: string }>([
  {
    what: 'calls to be unsent that may have been processed',
    OwnConnection: telling(({ onLost: lost }) => ({ onLost: () => lost('unsent') })),
    fault: 'may have been processed',
  },
  {
    what: 'calls to be lost that GOAWAY does not name',
    OwnConnection: telling(({ onLost: lost }) => ({ onLost: () => lost('lost') })),
    fault: 'was not looked at|never left is lost',
  },
  {
    what: 'nothing to calls that GOAWAY does not name',
    OwnConnection: telling(({ onLost: lost }) => ({ onLost: (kind, cause) => kind === 'lost' && lost(kind, cause) })),
    fault: 'is not finished|ended 0 times',
  },
])('a connection that tells $what is found out', ({ OwnConnection, fault }) => {
  expect(firstFault(2_000, OwnConnection)).toMatch(new RegExp(fault));
});
