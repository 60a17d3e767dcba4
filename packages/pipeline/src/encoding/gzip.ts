import { Places } from '@cluster-apiserver/base';
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import { allocateAnew, type BodySource, isReady, ReadyBodySource } from '../body-source.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import { parseMediaRanges } from './media-ranges.ts';

/** Above this size, compression saves more time on the network than it costs. */
const compressedBytesMin = 128 * 1024;

/** Compresses a large response if the client accepts gzip. Generated bodies count as large. */
export function compressResponse(request: ApiRequest, response: ApiResponse): ApiResponse {
  const { body, headers } = response;
  if (body === undefined || (body.length !== undefined && body.length <= compressedBytesMin)) return response;
  if (!acceptsGzip(request.header('accept-encoding'))) return response;
  const vary = [headers['vary'] ?? [], 'Accept-Encoding'].flat();
  return {
    ...response,
    headers: { ...headers, vary, 'content-encoding': 'gzip' },
    body: new GzipBody(isReady(body) ? new ReadyBodySource(body) : body),
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
class GzipBody implements BodySource {
  readonly #source: BodySource;
  #part: 'header' | 'pieces' | 'end' = 'header';
  #checksum = 0;
  #bytes = 0;

  constructor(source: BodySource) {
    this.#source = source;
  }

  next(bytesMax: number): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#part === 'end') return undefined;
    if (this.#part === 'pieces') return this.#compressNext(Math.max(bytesMax, pieceBytesMin));
    this.#part = 'pieces';
    return header;
  }

  close(): void {
    this.#source.close();
  }

  async #compressNext(bytesMax: number): Promise<Buffer> {
    // Generate the piece only now: many responses may wait here.
    const compressed = await compressors.use(async () => {
      const piece = await this.#source.next(bytesMax, allocateAnew);
      if (!piece) return undefined;
      this.#checksum = crc32(piece, this.#checksum);
      this.#bytes += piece.length;
      return await deflate(piece, options);
    });
    if (compressed) return compressed;
    this.#part = 'end';
    const trailer = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]); // an empty final block, checksum, length
    trailer.writeUInt32LE(this.#checksum, 2);
    trailer.writeUInt32LE(this.#bytes % 2 ** 32, 6);
    return trailer;
  }
}

/** Shorter pieces would compress badly. A client that does not read holds this much, compressed. */
const pieceBytesMin = 64 * 1024;

/** The lowest level: the next ones take twice the time for a tenth of the bytes. */
const options = { level: 1, finishFlush: constants.Z_FULL_FLUSH };

/** The gzip header: deflate, no name, no time, Unix. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]);

/** The size of libuv's thread pool by default; more would only hold memory. */
const compressorsMax = 4;

const compressors = new Places(compressorsMax);
