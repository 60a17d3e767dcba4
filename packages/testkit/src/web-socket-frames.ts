interface FrameOptions {
  readonly last?: boolean;
  readonly reserved?: number;
  readonly masked?: boolean;
  /** The length that the frame declares. */
  readonly declared?: number;
  /** Size of the length field, even if a smaller one would do. */
  readonly lengthBits?: 7 | 16 | 64;
}

/** A frame of a WebSocket as a client sends it, or must not send it. */
export function clientFrame(
  opcode: number,
  payload: Buffer = Buffer.alloc(0),
  {
    last = true,
    reserved = 0,
    masked = true,
    declared = payload.length,
    lengthBits = declared < 126 ? 7 : declared < 65_536 ? 16 : 64,
  }: FrameOptions = {},
): Buffer {
  const head = Buffer.alloc(2 + (lengthBits === 7 ? 0 : lengthBits / 8));
  head[0] = (last ? 128 : 0) | (reserved << 4) | opcode;
  head[1] = (masked ? 128 : 0) | (lengthBits === 7 ? declared & 127 : lengthBits === 16 ? 126 : 127);
  if (lengthBits === 16) head.writeUInt16BE(declared & 0xffff, 2);
  if (lengthBits === 64) head.writeBigUInt64BE(BigInt.asUintN(64, BigInt(declared)), 2);
  if (!masked) return Buffer.concat([head, payload]);
  const mask = Buffer.from([1, 2, 3, 4]);
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}
