import { randomFillSync, randomUUID } from 'node:crypto';

/** Randomness as an argument: a seeded source makes a run repeatable. */
export interface Random {
  /** A whole number from 0 up to, but not including, the bound. */
  below(bound: number): number;
  /** A version 4 UUID. */
  uuid(): string;
  /** Random bytes, which are returned only once. */
  bytes(count: number): Buffer;
}

/** Random bytes are generated in blocks: a call for each number costs ten times as much. */
const blockBytes = 4096;

export function systemRandom(): Random {
  const block = Buffer.alloc(blockBytes);
  let used = blockBytes;
  const take = (bytes: number): number => {
    if (used + bytes > blockBytes) {
      randomFillSync(block);
      used = 0;
    }
    used += bytes;
    return used - bytes;
  };
  return {
    below: (bound) => Math.floor((block.readUInt32LE(take(4)) / 2 ** 32) * bound),
    uuid: () => randomUUID(),
    bytes: (count) => {
      if (count > blockBytes) return randomFillSync(Buffer.alloc(count));
      const start = take(count);
      const taken = Buffer.allocUnsafe(count);
      block.copy(taken, 0, start, start + count);
      // Some become encryption keys, which must not stay in the block.
      block.fill(0, start, start + count);
      return taken;
    },
  };
}

/** A repeatable generator (mulberry32), for tests and simulations only. */
export function seededRandom(seed: number): Random {
  const { floor, imul } = Math; // kept here, because reading a global is slow in Jest's context
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => floor(next() * 256)));
  return { below: (bound) => floor(next() * bound), uuid: () => uuidOf(bytes(16)), bytes };
}

function uuidOf(bytes: Buffer): string {
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x40;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
