import { type Loop, runSync, unreachable } from '@cluster-apiserver/base';
import { yamlText } from '@cluster-apiserver/model/codec';
import { indentedJson } from '@cluster-apiserver/model/json';
import { type BodySource, joinBuffers, readWhole, type ReadyBody } from '../body-source.ts';
import type { Encoding } from './encode.ts';

/** Text, bytes, or nothing yet. */
export type Parts = Iterable<string | Uint8Array | undefined>;

/** Generates a body in steps of at most about a millisecond. Steps run only while the client reads. */
export type Steps = Generator<string | Uint8Array | undefined>;

/** The size of a slice, which is what a response holds in memory besides the object that it is encoding. */
const sliceBytes = 64 * 1024;

/** Smaller bodies are generated at once, so that they have a Content-Length. */
const wholeCharactersMax = 64 * 1024;

/** Both ways to encode a value, of which one is used. */
export interface Encodable {
  /** JSON texts, none of which ends inside a token. */
  readonly texts: Iterable<string | undefined>;
  readonly protobuf: Steps;
}

/** A body of stored objects of this total length. */
export function slicedBody(
  loop: Loop,
  encoding: Encoding,
  { texts, protobuf }: Encodable,
  characters: number,
): BodySource | Promise<ReadyBody> {
  const steps = encoding === 'protobuf' ? protobuf : encodeTextInSteps(encoding, texts);
  return characters <= wholeCharactersMax ? encodeInSteps(loop, steps) : new SlicedBody(loop, steps);
}

/** Everything that the steps generate. */
export const encodeInSteps = (loop: Loop, steps: Steps): Promise<Buffer> => readWhole(new SlicedBody(loop, steps));

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
export class SlicedBody implements BodySource {
  readonly #loop: Loop;
  readonly #steps: Steps;
  #isOver = false;

  constructor(loop: Loop, steps: Steps) {
    this.#loop = loop;
    this.#steps = steps;
  }

  async next(): Promise<Buffer | undefined> {
    while (!this.#isOver) {
      const slice = await this.#loop.schedule(this.#fillSlice);
      if (slice.length > 0) return slice;
    }
    return undefined;
  }

  close(): void {
    this.#isOver = true;
    this.#steps.return(undefined);
  }

  readonly #fillSlice = (shouldYield: () => boolean): Buffer => {
    const joined = new JoinedParts();
    do {
      const { value, done } = this.#steps.next();
      if (done) this.#isOver = true;
      else if (value) joined.add(value);
    } while (!this.#isOver && joined.length < sliceBytes && !shouldYield());
    return joined.toBuffer();
  };
}

/** Joins the parts, in a step for each. */
export function* joinSteps(parts: Parts): Generator<undefined, Buffer> {
  const joined = new JoinedParts();
  for (const part of parts) {
    if (part) joined.add(part);
    yield;
  }
  return joined.toBuffer();
}

export const encodeAtOnce = (parts: Parts): Buffer => runSync(joinSteps(parts));

/** Text and bytes in the order in which they were added. Text is encoded in as few pieces as possible. */
class JoinedParts {
  readonly #buffers: Buffer[] = [];
  #text = '';
  #length = 0;

  /** In bytes, or characters of text. */
  get length(): number {
    return this.#length;
  }

  add(part: string | Uint8Array): void {
    this.#length += part.length;
    if (typeof part === 'string') this.#text += part;
    else {
      this.#flushText();
      this.#buffers.push(Buffer.from(part.buffer, part.byteOffset, part.length));
    }
  }

  toBuffer(): Buffer {
    this.#flushText();
    return joinBuffers(this.#buffers);
  }

  #flushText(): void {
    if (this.#text !== '') this.#buffers.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
