import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { type ApiRequest, type ApiResponse, type SizedBody, type ChunkedBody, isSized } from '../exchange.ts';
import { splitIntoPieces } from '../listener/request/write-body.ts';
import { parseMediaRanges } from './media-ranges.ts';

/** Above this size, compression saves more time on the network than it costs. */
const compressedBytesMin = 128 * 1024;

/** Compresses a large response if the client accepts gzip. Generated bodies count as large. */
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

/** Accept-Encoding has the syntax of Accept, with codings instead of media types. */
const acceptsGzip = (accepted: string | undefined): boolean =>
  accepted !== undefined && parseMediaRanges(accepted).some(({ type }) => type === 'gzip');

const deflate = promisify(deflateRaw);

/**
 * Compresses each piece separately, aligned to a byte, so that together they are one stream (RFC 1951, 1952). A
 * compressor for the whole response would hold 256 KiB for each client that does not read.
 */
async function* gzip(body: SizedBody | ChunkedBody): AsyncGenerator<Buffer> {
  yield header;
  let checksum = 0;
  let length = 0;
  const pieces = isSized(body)
    ? splitIntoPieces(body, (bytes) => Buffer.allocUnsafe(bytes))[Symbol.iterator]()
    : body.chunks()[Symbol.asyncIterator]();
  try {
    for (;;) {
      // Generate the piece only now: many responses may wait here.
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
  const trailer = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]); // an empty final block, checksum, length
  trailer.writeUInt32LE(checksum, 2);
  trailer.writeUInt32LE(length % 2 ** 32, 6);
  yield trailer;
}

/** The lowest level: the next ones take twice the time for a tenth of the bytes. */
const options = { level: 1, finishFlush: constants.Z_FULL_FLUSH };

/** The gzip header: deflate, no name, no time, Unix. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]);

/** The size of libuv's thread pool by default; more would only hold memory. */
const compressorsMax = 4;

/** Runs a limited number of tasks at a time, in order of arrival. */
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
