import { isUtf8 } from 'node:buffer';
import { closeCodes } from './messages.ts';

/** Clients of watches send no data. Small messages are dropped; larger ones close the WebSocket. */
export const messageBytesMax = 64 * 1024;

export interface ClientMessage {
  /** The latest ping, which is all that RFC 6455 requires to be answered. */
  readonly ping?: Buffer;
  /** Set if the client closes or violates the protocol: the close code. Later frames are ignored. */
  readonly close?: number;
}

/**
 * Parses the frames of a client, in pieces of any size. It buffers less than one frame head and one control frame:
 * payloads of messages are skipped, so they take no memory.
 */
export class ClientFrameReader {
  #kept = nothing;
  #skipBytes = 0;
  /** The size of a message whose last frame has not arrived. */
  #messageBytes: number | undefined;
  #closed = false;

  read(piece: Buffer): ClientMessage {
    let rest = this.#kept.length > 0 ? Buffer.concat([this.#kept, piece]) : piece;
    let ping: Buffer | undefined;
    while (!this.#closed) {
      const skipped = Math.min(this.#skipBytes, rest.length);
      this.#skipBytes -= skipped;
      rest = rest.subarray(skipped);
      const head = parseFrameHead(rest);
      if (!head) break;
      if (head === 'unmasked') return this.#close(ping, closeCodes.protocolError);
      const fault = isControl(head) ? checkControlFrame(head) : this.#checkDataFrame(head);
      if (fault) return this.#close(ping, fault);
      if (!isControl(head)) {
        this.#skipBytes = head.payloadBytes;
        rest = rest.subarray(head.bytes);
        continue;
      }
      const end = head.bytes + head.payloadBytes;
      if (rest.length < end) break;
      const payload = unmask(rest.subarray(head.bytes - maskBytes, end));
      rest = rest.subarray(end);
      if (head.opcode === opcodes.close) return this.#close(ping, closeCodeFor(payload));
      if (head.opcode === opcodes.ping) ping = payload;
    }
    // Copied, since it would retain the whole piece of the socket.
    this.#kept = Buffer.from(rest);
    return ping ? { ping } : {};
  }

  #close(ping: Buffer | undefined, close: number): ClientMessage {
    this.#closed = true;
    this.#kept = nothing;
    return { ...(ping && { ping }), close };
  }

  /** Counts a data frame. Returns a close code if it is invalid. */
  #checkDataFrame({ opcode, last, reserved, payloadBytes }: Head): number | undefined {
    const goesOn = this.#messageBytes !== undefined;
    if (reserved || goesOn !== (opcode === opcodes.continuation)) return closeCodes.protocolError;
    if (opcode !== opcodes.continuation && opcode !== opcodes.text && opcode !== opcodes.binary)
      return closeCodes.protocolError;
    const bytes = (this.#messageBytes ?? 0) + payloadBytes;
    if (bytes > messageBytesMax) return closeCodes.tooBig;
    this.#messageBytes = last ? undefined : bytes;
    return undefined;
  }
}

const nothing = Buffer.alloc(0);
const opcodes = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa };
const maskBytes = 4;
const controlBytesMax = 125;

interface Head {
  readonly opcode: number;
  readonly last: boolean;
  readonly reserved: boolean;
  /** Size of the head, including the mask. */
  readonly bytes: number;
  readonly payloadBytes: number;
}

/** Undefined if the head is incomplete. */
function parseFrameHead(bytes: Buffer): Head | 'unmasked' | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  // Masking prevents a page from making a browser send bytes that a proxy takes for a request.
  if ((second & 0x80) === 0) return 'unmasked';
  const length = second & 0x7f;
  const lengthBytes = length === 126 ? 2 : length === 127 ? 8 : 0;
  const headBytes = 2 + lengthBytes + maskBytes;
  if (bytes.length < headBytes) return undefined;
  return {
    opcode: first & 0x0f,
    last: (first & 0x80) !== 0,
    reserved: (first & 0x70) !== 0,
    bytes: headBytes,
    payloadBytes:
      lengthBytes === 0 ? length : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)),
  };
}

const isControl = ({ opcode }: Head): boolean => (opcode & 0x8) !== 0;

function checkControlFrame({ opcode, last, reserved, payloadBytes }: Head): number | undefined {
  const known = opcode === opcodes.close || opcode === opcodes.ping || opcode === opcodes.pong;
  return known && last && !reserved && payloadBytes <= controlBytesMax ? undefined : closeCodes.protocolError;
}

/** The mask, followed by the masked payload. */
function unmask(masked: Buffer): Buffer {
  const payload = Buffer.from(masked.subarray(maskBytes));
  for (const at of payload.keys()) payload[at] = payload.readUInt8(at) ^ masked.readUInt8(at % maskBytes);
  return payload;
}

/** Echoes the client's close code, if it is a valid one. */
function closeCodeFor(payload: Buffer): number {
  if (payload.length === 0) return closeCodes.normal;
  if (payload.length === 1) return closeCodes.protocolError;
  if (!isUtf8(payload.subarray(2))) return closeCodes.notText;
  const code = payload.readUInt16BE();
  const known = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000);
  return known ? code : closeCodes.protocolError;
}
