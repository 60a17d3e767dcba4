import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
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
 * Parses the frames of a client, in pieces of any size. It buffers less than one frame head and one control frame: the
 * payload of a message is only checked, if it is text, so it takes no memory.
 */
export class ClientFrameReader {
  #kept = nothing;
  /** The data frame whose payload arrives. */
  #payload: { readonly mask: Buffer; readonly last: boolean; readonly bytes: number; arrived: number } | undefined;
  /** The size of a message whose last frame has not begun. */
  #messageBytes: number | undefined;
  /** Checks the text of a message. */
  #text: TextDecoder | undefined;
  #closed = false;

  read(piece: Buffer): ClientMessage {
    let rest = this.#kept.length > 0 ? Buffer.concat([this.#kept, piece]) : piece;
    let ping: Buffer | undefined;
    while (!this.#closed) {
      const taken = this.#takePayload(rest);
      if (taken === 'no text') return this.#close(ping, closeCodes.notText);
      rest = rest.subarray(taken);
      if (this.#payload) break;
      const head = parseFrameHead(rest);
      if (!head) break;
      if (head === 'invalid') return this.#close(ping, closeCodes.protocolError);
      const fault = isControl(head) ? checkControlFrame(head) : this.#checkDataFrame(head);
      if (fault) return this.#close(ping, fault);
      if (!isControl(head)) {
        const mask = Buffer.from(rest.subarray(head.bytes - maskBytes, head.bytes));
        this.#payload = { mask, last: head.last, bytes: head.payloadBytes, arrived: 0 };
        rest = rest.subarray(head.bytes);
        continue;
      }
      const end = head.bytes + head.payloadBytes;
      if (rest.length < end) break;
      const mask = rest.subarray(head.bytes - maskBytes, head.bytes);
      const payload = unmask(rest.subarray(head.bytes, end), mask, 0);
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
    if (opcode === opcodes.text) this.#text = new TextDecoder('utf-8', { fatal: true });
    return undefined;
  }

  /** Returns how many of the bytes belong to the payload that arrives. */
  #takePayload(bytes: Buffer): number | 'no text' {
    const payload = this.#payload;
    if (!payload) return 0;
    const taken = Math.min(payload.bytes - payload.arrived, bytes.length);
    const isWhole = payload.arrived + taken === payload.bytes;
    const isEnd = isWhole && payload.last;
    const piece = this.#text && unmask(bytes.subarray(0, taken), payload.mask, payload.arrived);
    if (this.#text && !isText(this.#text, piece, isEnd)) return 'no text';
    payload.arrived += taken;
    if (isWhole) this.#payload = undefined;
    if (isEnd) this.#text = undefined;
    return taken;
  }
}

function isText(decoder: TextDecoder, piece: Buffer | undefined, isEnd: boolean): boolean {
  try {
    decoder.decode(piece, { stream: !isEnd });
    return true;
  } catch {
    return false; // the only error of a fatal decoder
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
function parseFrameHead(bytes: Buffer): Head | 'invalid' | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  // Masking prevents a page from making a browser send bytes that a proxy takes for a request.
  if ((second & 0x80) === 0) return 'invalid';
  const length = second & 0x7f;
  const lengthBytes = length === 126 ? 2 : length === 127 ? 8 : 0;
  const headBytes = 2 + lengthBytes + maskBytes;
  if (bytes.length < headBytes) return undefined;
  const payloadBytes =
    lengthBytes === 0 ? length : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  // The shortest form is required. The highest bit of the longest must be 0; such a length is too large anyway.
  if (lengthBytes > 0 && payloadBytes <= (lengthBytes === 2 ? controlBytesMax : 0xffff)) return 'invalid';
  return {
    opcode: first & 0x0f,
    last: (first & 0x80) !== 0,
    reserved: (first & 0x70) !== 0,
    bytes: headBytes,
    payloadBytes,
  };
}

const isControl = ({ opcode }: Head): boolean => (opcode & 0x8) !== 0;

function checkControlFrame({ opcode, last, reserved, payloadBytes }: Head): number | undefined {
  const known = opcode === opcodes.close || opcode === opcodes.ping || opcode === opcodes.pong;
  return known && last && !reserved && payloadBytes <= controlBytesMax ? undefined : closeCodes.protocolError;
}

/** A copy without the mask. `from` is where the bytes are in their payload. */
function unmask(masked: Buffer, mask: Buffer, from: number): Buffer {
  const payload = Buffer.from(masked);
  for (let at = 0; at < payload.length; at++)
    payload[at] = payload.readUInt8(at) ^ mask.readUInt8((from + at) % maskBytes);
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
