import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type ApiRequest, type ApiResponse, type Bytes, hasLength } from '../exchange.ts';
import { piecesOf } from '../node/outlet.ts';
import { mediaRanges } from './media-ranges.ts';

/** From here on the time on the wire is worth more than the time it takes to save it. */
const compressedBytesMin = 128 * 1024;

/** The answer compressed, if it is long and the client takes that. */
export function compressed(request: ApiRequest, response: ApiResponse): ApiResponse {
  const { body, headers } = response;
  if (!hasLength(body) || body.length <= compressedBytesMin || !takesGzip(request.header('accept-encoding')))
    return response;
  const vary = [headers['vary'] ?? [], 'Accept-Encoding'].flat();
  return {
    ...response,
    headers: { ...headers, vary, 'content-encoding': 'gzip' },
    body: { flow: () => gzipped(body) },
  };
}

/** The header has the form of Accept, with names in the place of types. */
const takesGzip = (accepted: string | undefined): boolean =>
  accepted !== undefined && mediaRanges(accepted).some(({ type }) => type === 'gzip');

async function* gzipped(body: Bytes): AsyncGenerator<Buffer> {
  // The lightest level: the next ones take twice the time for a tenth of the bytes.
  const gzip = createGzip({ level: 1 });
  // Whatever goes wrong is thrown to the reader below.
  pipeline(Readable.from(piecesOf(body, Buffer.allocUnsafe)), gzip, () => {});
  for await (const piece of gzip) yield piece as Buffer;
}
