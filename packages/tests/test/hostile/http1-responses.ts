import { parseProtobuf } from '@cluster-apiserver/model/codec';
import { statusSchema } from '@cluster-apiserver/model/schema';

/** Parses HTTP/1.1 responses strictly: what a lenient client forgives may confuse the next proxy. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface ParsedResponses {
  readonly answers: readonly HttpResponse[];
  /** What follows the last complete response; `begun` is an incomplete one. */
  readonly rest: 'nothing' | 'begun' | 'something else';
}

/** `method` is the method of the only request, if known: a response to HEAD has no body. */
export function parseResponses(bytes: Buffer, method: string | undefined): ParsedResponses {
  const answers: HttpResponse[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at, 'latin1');
    const head = end < 0 ? undefined : headOf(bytes.subarray(at, end).toString('latin1'));
    if (!head) return { answers, rest: 'something else' };
    const body = bodyOf(head, bytes.subarray(end + 4), method);
    if (body === 'begun') return { answers: [...answers, { ...head, body: Buffer.alloc(0) }], rest: 'begun' };
    if (body === undefined) return { answers, rest: 'something else' };
    answers.push({ ...head, body: body.bytes });
    at = end + 4 + body.length;
  }
  return { answers, rest: 'nothing' };
}

type Head = Omit<HttpResponse, 'body'>;

function headOf(text: string): Head | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5][0-9]{2}) [\x20-\x7e]*$/.exec(first);
  const fields = lines.map((line) => /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\t\x20-\x7e\x80-\xff]*)$/.exec(line));
  if (!status || fields.includes(null)) return undefined;
  return {
    status: Number(status[1]),
    headers: new Map(fields.map((field) => [(field?.[1] ?? '').toLowerCase(), field?.[2] ?? ''])),
  };
}

interface Body {
  readonly bytes: Buffer;
  /** Number of bytes of the body on the connection. */
  readonly length: number;
}

const none: Body = { bytes: Buffer.alloc(0), length: 0 };

function bodyOf({ status, headers }: Head, rest: Buffer, method: string | undefined): Body | 'begun' | undefined {
  if (status < 200 || status === 204 || status === 304) return none;
  const declared = headers.get('content-length');
  const chunked = headers.get('transfer-encoding') === 'chunked';
  // A request that was rejected before its method was understood gets a body.
  if (method === 'HEAD' && rest.length !== Number(declared)) return none;
  if (declared === undefined && !chunked) return undefined; // the length would be known only at the end of the connection
  if (declared !== undefined) {
    if (chunked || !/^[0-9]+$/.test(declared)) return undefined;
    const length = Number(declared);
    return rest.length < length ? 'begun' : { bytes: rest.subarray(0, length), length };
  }
  return chunksOf(rest);
}

function chunksOf(rest: Buffer): Body | 'begun' | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = rest.indexOf('\r\n', at, 'latin1');
    if (end < 0) return 'begun';
    const line = rest.subarray(at, end).toString('latin1');
    if (!/^[0-9a-f]+$/i.test(line)) return undefined;
    const length = Number.parseInt(line, 16);
    const next = end + 2 + length + 2;
    if (rest.length < next) return 'begun';
    if (rest.subarray(next - 2, next).toString('latin1') !== '\r\n') return undefined;
    if (length === 0) return { bytes: Buffer.concat(pieces), length: next };
    pieces.push(rest.subarray(end + 2, end + 2 + length));
    at = next;
  }
}

/** Finds faults of any response. 504 is justified for a request with a short timeout or a future resourceVersion. */
export function responseFault(status: number, contentType: string | undefined, body: Buffer): string | undefined {
  if (status >= 500 && status !== 504) return `status ${status}: ${body.toString()}`;
  if (status < 400 || body.length === 0) return undefined;
  if (status === 404 && contentType?.startsWith('text/plain')) return undefined;
  const fits = fitting[contentType?.split(';', 1)[0] ?? ''] ?? isJsonStatus;
  return fits(status, body) ? undefined : `${status} ${contentType} without a Status: ${body.toString()}`;
}

type Fits = (status: number, body: Buffer) => boolean;

const isYamlStatus: Fits = (status, body) =>
  [/^kind: Status$/m, new RegExp(`^code: ${status}$`, 'm')].every((line) => line.test(body.toString()));

const isJsonStatus: Fits = (status, body) => isStatus(status, () => JSON.parse(body.toString()));
const isProtobufStatus: Fits = (status, body) => isStatus(status, () => parseProtobuf(body, () => statusSchema).value);

const fitting: Readonly<Record<string, Fits>> = {
  'application/yaml': isYamlStatus,
  'application/vnd.kubernetes.protobuf': isProtobufStatus,
};

function isStatus(status: number, read: () => unknown): boolean {
  try {
    const { kind, code } = read() as { kind?: unknown; code?: unknown };
    return kind === 'Status' && code === status;
  } catch {
    return false; // an unreadable body is not a Status
  }
}
