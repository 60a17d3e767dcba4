import { isUtf8 } from 'node:buffer';
import { closeCodes } from './messages.ts';

/** What a client of a watch has to say is nothing. Some say a little; it is thrown away, and more than this ends it. */
export const messageBytesMax = 64 * 1024;

export interface ClientMessage {
  /** To be answered. Of several that came together the newest, which is all that the RFC asks for. */
  readonly ping?: Buffer;
  /** The client closes, or has to be sent away: with this code, and nothing of what follows counts. */
  readonly close?: number;
}

/**
 * Reads what a client sends, in whatever pieces it comes. It keeps less than one head and one control frame: payloads
 * of messages are skipped where they lie, so what a client sends costs no memory.
 */
export class ClientFrameReader {
  #kept = nothing;
  #skipBytes = 0;
  /** Of the message whose last frame has not come yet. */
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
    // Copied, because a piece is as large as the socket likes.
    this.#kept = Buffer.from(rest);
    return ping ? { ping } : {};
  }

  #close(ping: Buffer | undefined, close: number): ClientMessage {
    this.#closed = true;
    this.#kept = nothing;
    return { ...(ping && { ping }), close };
  }

  /** Counts a frame of a message, and says what is wrong with it. */
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
  /** Of the head itself, with its mask. */
  readonly bytes: number;
  readonly payloadBytes: number;
}

/** Undefined when not all of it is here. */
function parseFrameHead(bytes: Buffer): Head | 'unmasked' | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  // Nobody in between shall find a request of his own in what a page makes a browser send.
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

/** A mask and what it hides. */
function unmask(masked: Buffer): Buffer {
  const payload = Buffer.from(masked.subarray(maskBytes));
  for (const at of payload.keys()) payload[at] = (payload[at] as number) ^ (masked[at % maskBytes] as number);
  return payload;
}

/** A client's own code comes back to it, if it is one that may be sent. */
function closeCodeFor(payload: Buffer): number {
  if (payload.length === 0) return closeCodes.normal;
  if (payload.length === 1) return closeCodes.protocolError;
  if (!isUtf8(payload.subarray(2))) return closeCodes.notText;
  const code = payload.readUInt16BE();
  const known = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000);
  return known ? code : closeCodes.protocolError;
}
