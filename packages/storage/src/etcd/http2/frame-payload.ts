/** The payloads of received frames: those bytes of `held` from `at` to `end`. */
import { flags, Http2ProtocolError } from './frames.ts';

/** How much of a peer's reason to close is reported. */
const goAwayTextMax = 200;

/** The code and the text of a GOAWAY, such as code 11 with `too_many_pings`. Empty for an orderly shutdown. */
export function goAwayReason(held: Buffer, at: number, end: number): string {
  if (end - at < 4 || held.readUInt32BE(at) === 0) return '';
  const text = held.toString('latin1', at + 4, Math.min(end, at + 4 + goAwayTextMax));
  return ` with code ${held.readUInt32BE(at)}${text === '' ? '' : ` and ${JSON.stringify(text)}`}`;
}

export function unpadded(held: Buffer, at: number, end: number, frameFlags: number): Buffer {
  if ((frameFlags & flags.padded) === 0) return held.subarray(at, end);
  const padding = held[at] ?? 0;
  if (at + 1 + padding > end) throw new Http2ProtocolError('more padding than payload');
  return held.subarray(at + 1, end - padding);
}

export function numberAt(held: Buffer, at: number, end: number): number {
  if (end - at < 4) throw new Http2ProtocolError('a payload that is too short');
  return held.readUInt32BE(at);
}
