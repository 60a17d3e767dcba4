import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { Stream, type StreamListener, type StreamOwner } from './stream.ts';

test('listeners of ended streams are not promoted by V8', () => {
  const listenerNumbers = 1_000;
  const streamsPerStep = 100;
  const steps = 20;
  const streams = new Map<number, Stream>();
  const owner: StreamOwner = {
    write: () => {},
    queueForSending: () => {},
    release: (stream) => void streams.delete(stream.id),
  };
  let id = 1;
  let last: Stream | undefined;
  const open = (): void => {
    for (let i = 0; i < streamsPerStep; i++) {
      const stream = new Stream(owner, Buffer.alloc(0), createListener(listenerNumbers));
      stream.open(id, 0);
      streams.set(id, stream);
      last?.receiveHeaders(new Map(), true);
      last = stream;
      id += 2;
    }
  };
  expect(promotedBytes(steps, open)).toBeLessThan((steps * streamsPerStep * listenerNumbers * 8) / 20);
});

function createListener(count: number): StreamListener {
  const numbers = Array.from({ length: count }, (_, at) => at + 0.5);
  return { onHeaders: () => void numbers.length, onData: () => {}, onEnd: () => {}, onLost: () => {} };
}
