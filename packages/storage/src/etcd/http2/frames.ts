/** The frames of HTTP/2 (RFC 9113, section 4): a length, a type, flags, the number of a stream, and a payload. */
import { LengthPrefixedFramer } from './length-prefixed-framer.ts';

export const frameTypes = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const settingNumbers = {
  headerTableSize: 1,
  enablePush: 2,
  concurrentStreamsMax: 3,
  initialWindowSize: 4,
  frameBytesMax: 5,
} as const;

export const errorCodes = { noError: 0, protocolError: 1, flowControlError: 3, refusedStream: 7, cancel: 8 } as const;

/** The defaults of both sides until a SETTINGS frame; this client keeps them. */
export const frameBytesMax = 16_384;
export const initialWindowBytes = 65_535;

/** The largest window, stream ID and increment. */
export const number31Max = 2 ** 31 - 1;

/** The largest length of a frame. */
export const number24Max = 2 ** 24 - 1;

export const headBytes = 9;

/** The connection preface, which precedes the client's first frame. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The peer violated the protocol, so the connection is closed. */
export class Http2ProtocolError extends Error {
  override readonly name = 'Http2ProtocolError';
}

export const createFrameReader = (): LengthPrefixedFramer =>
  new LengthPrefixedFramer(headBytes, readPayloadBytes, headBytes + frameBytesMax);

function readPayloadBytes(held: Buffer, at: number): number {
  const length = held.readUIntBE(at, 3);
  if (length > frameBytesMax) throw new Http2ProtocolError(`a frame of ${length} bytes, limit is ${frameBytesMax}`);
  return length;
}

export function frameHead(type: number, frameFlags: number, stream: number, payloadBytes: number): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUIntBE(payloadBytes, 0, 3);
  head[3] = type;
  head[4] = frameFlags;
  head.writeUInt32BE(stream, 5);
  return head;
}

/** A frame with a 32-bit number as payload, such as an increment or an error code. */
export function numberFrame(type: number, stream: number, value: number): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + 4);
  frameHead(type, 0, stream, 4).copy(frame);
  frame.writeUInt32BE(value, headBytes);
  return frame;
}

export function settingsFrame(settings: readonly (readonly [number: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([number, value], n) => {
    payload.writeUInt16BE(number, n * 6);
    payload.writeUInt32BE(value, n * 6 + 2);
  });
  return Buffer.concat([frameHead(frameTypes.settings, 0, 0, payload.length), payload]);
}
