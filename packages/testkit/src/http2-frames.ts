/** Encodes HTTP/2 frames: Node's client sends neither invalid nor single ones. */
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

/** Flags of a frame. */
export const endStream = 1;
const endHeaders = 4;

export const settingIds = { headerTableSize: 1, enablePush: 2, maxConcurrentStreams: 3, initialWindowSize: 4 } as const;

/** Length, type, flags and stream. */
export const frameHeadBytes = 9;

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
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
export const data = (stream: number, bytes: Buffer, flags = 0): Buffer => frame(frames.data, flags, stream, bytes);
export const ping = (content: Buffer): Buffer => frame(frames.ping, 0, 0, content);
export const goaway = (): Buffer => frame(frames.goaway, 0, 0, Buffer.alloc(8));

export const requestHeaders = (stream: number, block: Buffer, ended = true): Buffer =>
  headers(stream, block, ended ? endHeaders | endStream : endHeaders);

export function windowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(frames.windowUpdate, 0, stream, payload);
}

/** Without a code it is CANCEL. */
export function resetStream(stream: number, code = 8): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame(frames.reset, 0, stream, payload);
}

export function settingsFrame(values: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(values.length * 6);
  values.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, at * 6);
    payload.writeUInt32BE(value, at * 6 + 2);
  });
  return frame(frames.settings, 0, 0, payload);
}

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
