import { randomFillSync } from 'node:crypto';

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
    uuid: () => uuidOf(block, take(uuidBytes)),
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
  return { below: (bound) => floor(next() * bound), uuid: () => uuidOf(bytes(uuidBytes), 0), bytes };
}

const uuidBytes = 16;
/** Where the text of a UUID has its bytes, between the hyphens. */
const placesInText = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const text = Buffer.from('00000000-0000-0000-0000-000000000000');
const hexDigits = Buffer.from('0123456789abcdef');

/** Written into one buffer: every request has an audit ID, and strings that are joined would be garbage. */
function uuidOf(bytes: Buffer, from: number): string {
  for (let at = 0; at < uuidBytes; at++) {
    let byte = bytes[from + at] ?? 0;
    if (at === 6) byte = (byte & 0x0f) | 0x40; // the version
    if (at === 8) byte = (byte & 0x3f) | 0x80; // the variant
    const place = placesInText[at] ?? 0;
    text[place] = hexDigits[byte >> 4] ?? 0;
    text[place + 1] = hexDigits[byte & 0x0f] ?? 0;
  }
  return text.toString('latin1');
}
