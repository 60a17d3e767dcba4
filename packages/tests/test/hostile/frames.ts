/** Encodes HTTP/2 frames: Node's client refuses to send invalid ones. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const frames = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Length, type, flags and stream. */
const headBytes = 9;

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const settings = (): Buffer => frame(frames.settings, 0, 0, Buffer.alloc(0));
export const headers = (stream: number, block: Buffer, flags: number): Buffer =>
  frame(frames.headers, flags, stream, block);
export const continuation = (stream: number, block: Buffer, flags: number): Buffer =>
  frame(frames.continuation, flags, stream, block);
export const data = (stream: number, bytes: Buffer, flags: number): Buffer => frame(frames.data, flags, stream, bytes);
export const ping = (content: Buffer): Buffer => frame(frames.ping, 0, 0, content);
export const goaway = (): Buffer => frame(frames.goaway, 0, 0, Buffer.alloc(8));

export type Field = readonly [name: string, value: string];

/** Encodes header fields as HPACK literals, without table and Huffman code. */
export const literals = (fields: readonly Field[]): Buffer =>
  Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), lengthAndBytes(name), lengthAndBytes(value)]));

function lengthAndBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest > 127; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** The final frame: a response to it shows that the server has read all earlier frames. */
export const lastPing = ping(Buffer.from('hostile!'));

/** Whether the server has acknowledged the final ping or sent GOAWAY. */
export function isFinished(received: Buffer): boolean {
  for (let at = 0; received.length - at >= headBytes; ) {
    const end = at + headBytes + received.readUIntBE(at, 3);
    const [type, flags] = [received[at + 3], received[at + 4] ?? 0];
    const pong = type === frames.ping && (flags & 1) === 1;
    if (type === frames.goaway) return true;
    if (pong && received.subarray(at + headBytes, end).equals(lastPing.subarray(headBytes))) return true;
    at = end;
  }
  return false;
}
