/** Encodes the messages of a server (RFC 6455): one frame each, unmasked. */
const opcodes = { text: 0x1, binary: 0x2, close: 0x8, pong: 0xa } as const;

const lastFrame = 0x80;

export function encodeMessage(kind: keyof typeof opcodes, payload: Uint8Array): Buffer {
  const { length } = payload;
  const headBytes = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(headBytes + length);
  bytes[0] = lastFrame | opcodes[kind];
  if (headBytes === 2) bytes[1] = length;
  else if (headBytes === 4) {
    bytes[1] = 126;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = 127;
    bytes.writeUInt32BE(Math.floor(length / 2 ** 32), 2);
    bytes.writeUInt32BE(length % 2 ** 32, 6);
  }
  bytes.set(payload, headBytes);
  return bytes;
}

/** Close codes of RFC 6455. */
export const closeCodes = { normal: 1000, goingAway: 1001, protocolError: 1002, notText: 1007, tooBig: 1009 } as const;

export function encodeCloseMessage(code: number): Buffer {
  const payload = Buffer.allocUnsafe(2);
  payload.writeUInt16BE(code);
  return encodeMessage('close', payload);
}
