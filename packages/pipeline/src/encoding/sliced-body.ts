import { type TaskScheduler, unreachable } from '@cluster-apiserver/base';
import { indentedJson, yamlText } from '@cluster-apiserver/model';
import type { SizedBody, ChunkedBody } from '../exchange.ts';
import { joinBuffers } from '../join-buffers.ts';
import type { Encoding } from './encode.ts';

/**
 * Generates a body in steps of at most about a millisecond: text, bytes, or nothing yet. Steps run only while the
 * client reads.
 */
export type Steps = Generator<string | Uint8Array | undefined>;

/** The size of a slice, which is what a response holds in memory besides the object that it is encoding. */
const sliceBytes = 64 * 1024;

/** Smaller bodies are generated at once, so that they have a Content-Length. */
const wholeCharactersMax = 64 * 1024;

/** Generates a body from stored objects of this total length. */
export const slicedBody = (
  turns: TaskScheduler,
  begin: () => Steps,
  characters: number,
): ChunkedBody | Promise<SizedBody> =>
  characters <= wholeCharactersMax ? concatSlices(turns, begin()) : { chunks: () => generateSlices(turns, begin()) };

/** Encodes JSON texts, none of which ends inside a token. */
export function encodeTextInSteps(encoding: Exclude<Encoding, 'protobuf'>, texts: Iterable<string | undefined>): Steps {
  switch (encoding) {
    case 'json':
      return jsonLine(texts);
    case 'prettyJson':
      return indentedJson(texts);
    case 'yaml':
      return yamlText(texts);
    default:
      return unreachable(encoding);
  }
}

function* jsonLine(texts: Iterable<string | undefined>): Generator<string | undefined> {
  yield* texts;
  yield '\n';
}

/** Each slice is generated after the previous one has been sent. */
async function* generateSlices(turns: TaskScheduler, steps: Steps): AsyncGenerator<Buffer> {
  try {
    for (;;) {
      const { bytes, isEnd } = await turns.schedule((isOver) => fillSlice(steps, isOver));
      if (bytes.length > 0) yield bytes;
      if (isEnd) return;
    }
  } finally {
    steps.return(undefined);
  }
}

async function concatSlices(turns: TaskScheduler, steps: Steps): Promise<Buffer> {
  const slices: Buffer[] = [];
  for await (const slice of generateSlices(turns, steps)) slices.push(slice);
  return joinBuffers(slices);
}

function fillSlice(steps: Steps, isOver: () => boolean): { readonly bytes: Buffer; readonly isEnd: boolean } {
  const parts: Buffer[] = [];
  let text = '';
  let producedLength = 0;
  const flush = (): void => {
    if (text !== '') parts.push(Buffer.from(text));
    text = '';
  };
  let isEnd = false;
  do {
    const { value, done } = steps.next();
    if (done) isEnd = true;
    else if (typeof value === 'string') text += value;
    else if (value) {
      flush();
      parts.push(Buffer.from(value.buffer, value.byteOffset, value.length));
    }
    if (value) producedLength += value.length;
  } while (!isEnd && producedLength < sliceBytes && !isOver());
  flush();
  return { bytes: joinBuffers(parts), isEnd };
}
