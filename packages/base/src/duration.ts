import { requireValue } from './invariant.ts';

const unitsMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  // The Greek letter looks the same as the micro sign.
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** Formats a duration as Go does: `1h30m0s`, `1.5s`, `20ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms > 0 && ms < msPerSecond) return `${ms}ms`;
  const seconds = (ms % msPerMinute) / msPerSecond;
  const minutes = Math.floor(ms / msPerMinute) % minutesPerHour;
  const hours = Math.floor(ms / msPerMinute / minutesPerHour);
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}s`;
}

/** Go counts nanoseconds in 64 bits. */
const durationMsMax = 2 ** 63 / 1e6;

const msPerSecond = 1000;
const msPerMinute = 60_000;
const minutesPerHour = 60;

/** Parses a duration such as `1h30m`, `500ms`, `1.5s` or `0` to milliseconds. Undefined if it is invalid. */
export function parseDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  if (
    !/^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$/.test(
      text,
    )
  )
    return undefined;
  let sum = 0;
  for (const [, number, unit = ''] of text.matchAll(/([0-9.]+)([a-zµμ]+)/g))
    sum += Number(number) * requireValue(unitsMs.get(unit), 'the pattern above names the units');
  if (sum > durationMsMax) return undefined;
  return text.startsWith('-') ? -sum : sum;
}
