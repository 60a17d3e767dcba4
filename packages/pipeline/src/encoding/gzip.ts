import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { type ApiRequest, type ApiResponse, type SizedBody, type ChunkedBody, isSized } from '../exchange.ts';
import { splitIntoPieces } from '../listener/request/write-body.ts';
import { parseMediaRanges } from './media-ranges.ts';

/** From here on the time on the wire is worth more than the time it takes to save it. */
const compressedBytesMin = 128 * 1024;

/** The answer compressed, if it is long and the client takes that. What is made while it is sent is long. */
export function compressResponse(request: ApiRequest, response: ApiResponse): ApiResponse {
  const { body, headers } = response;
  if (body === undefined || (typeof body === 'object' && 'stream' in body)) return response;
  if (isSized(body) && body.length <= compressedBytesMin) return response;
  if (!acceptsGzip(request.header('accept-encoding'))) return response;
  const vary = [headers['vary'] ?? [], 'Accept-Encoding'].flat();
  return {
    ...response,
    headers: { ...headers, vary, 'content-encoding': 'gzip' },
    body: { chunks: () => gzip(body) },
  };
}

/** The header has the form of Accept, with names in the place of types. */
const acceptsGzip = (accepted: string | undefined): boolean =>
  accepted !== undefined && parseMediaRanges(accepted).some(({ type }) => type === 'gzip');

const deflate = promisify(deflateRaw);

/**
 * Each piece is compressed by itself and ends at a byte, so that together they are one stream (RFC 1951, 1952). A
 * compressor that lives as long as its answer would hold 256 KiB for each client that does not read.
 */
async function* gzip(body: SizedBody | ChunkedBody): AsyncGenerator<Buffer> {
  yield header;
  let checksum = 0;
  let length = 0;
  const pieces = isSized(body)
    ? splitIntoPieces(body, Buffer.allocUnsafe)[Symbol.iterator]()
    : body.chunks()[Symbol.asyncIterator]();
  try {
    for (;;) {
      // What is to be compressed is made only now: many answers may wait here.
      const compressed = await compressors.use(async () => {
        const { value, done } = await pieces.next();
        if (done) return undefined;
        checksum = crc32(value, checksum);
        length += value.length;
        return await deflate(value, options);
      });
      if (!compressed) break;
      yield compressed;
    }
  } finally {
    await pieces.return?.();
  }
  const trailer = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]); // an empty block that is the last, checksum, length
  trailer.writeUInt32LE(checksum, 2);
  trailer.writeUInt32LE(length % 2 ** 32, 6);
  yield trailer;
}

/** The lightest level: the next ones take twice the time for a tenth of the bytes. */
const options = { level: 1, finishFlush: constants.Z_FULL_FLUSH };

/** Deflate, no name, no time, written by Unix. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]);

/** As many as Node has threads for such work by default; more would only hold memory. */
const compressorsMax = 4;

/** Lets a few do something at a time, in the order in which they come. */
class ConcurrencyLimiter {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resume) => this.#waiting.push(resume));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

const compressors = new ConcurrencyLimiter(compressorsMax);
