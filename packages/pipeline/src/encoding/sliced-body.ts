import type { Turns } from '@cluster-apiserver/base';
import { indentedJson, yamlText } from '@cluster-apiserver/model';
import type { SizedBody, ChunkedBody } from '../exchange.ts';
import type { Encoding } from './encode.ts';

/**
 * What is made in steps, each of about a millisecond at most: text, bytes, or nothing yet. Steps are taken only while
 * somebody waits for what they make.
 */
export type Steps = Generator<string | Uint8Array | undefined>;

/** A slice ends when it has made this much: it is what an answer holds in memory, beside the object that it is at. */
const sliceBytes = 64 * 1024;

/** What is made of so little is made as a whole, so that its length can be said. */
const wholeCharactersMax = 64 * 1024;

/** A body that is made of stored objects of this length together. */
export const slicedBody = (turns: Turns, begin: () => Steps, characters: number): ChunkedBody | Promise<SizedBody> =>
  characters <= wholeCharactersMax ? concatSlices(turns, begin()) : { chunks: () => generateSlices(turns, begin()) };

/** JSON texts, none of which ends inside of a token, in the encoding that was asked for. */
export function encodeTextInSteps(encoding: Exclude<Encoding, 'protobuf'>, texts: Iterable<string | undefined>): Steps {
  switch (encoding) {
    case 'json':
      return jsonLine(texts);
    case 'prettyJson':
      return indentedJson(texts);
    case 'yaml':
      return yamlText(texts);
  }
}

function* jsonLine(texts: Iterable<string | undefined>): Generator<string | undefined> {
  yield* texts;
  yield '\n';
}

/** The next slice is made when the one before has left. */
async function* generateSlices(turns: Turns, steps: Steps): AsyncGenerator<Buffer> {
  try {
    for (;;) {
      const { bytes, isEnd } = await turns.take((isOver) => fillSlice(steps, isOver));
      if (bytes.length > 0) yield bytes;
      if (isEnd) return;
    }
  } finally {
    steps.return(undefined);
  }
}

async function concatSlices(turns: Turns, steps: Steps): Promise<Buffer> {
  const slices: Buffer[] = [];
  for await (const slice of generateSlices(turns, steps)) slices.push(slice);
  return slices.length === 1 ? (slices[0] as Buffer) : Buffer.concat(slices);
}

function fillSlice(steps: Steps, isOver: () => boolean): { readonly bytes: Buffer; readonly isEnd: boolean } {
  const parts: Buffer[] = [];
  let text = '';
  let made = 0;
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
    if (value) made += value.length;
  } while (!isEnd && made < sliceBytes && !isOver());
  flush();
  return { bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), isEnd };
}
