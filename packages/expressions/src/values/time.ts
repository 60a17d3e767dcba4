import { requireValue } from '@cluster-apiserver/base';
import { Duration, EvaluationError, Timestamp } from './value.ts';

export const perSecond = 1_000_000_000n;
/** From the first to the last second of the years that have four digits. The first one is the time that is unset in Go. */
export const oldest = -62_135_596_800n * perSecond;
const newest = 253_402_300_800n * perSecond - 1n;
const durationMax = 2n ** 63n - 1n;

export function createTimestamp(nanoseconds: bigint): Timestamp {
  if (nanoseconds < oldest || nanoseconds > newest) throw new EvaluationError('timestamp overflow');
  return new Timestamp(nanoseconds);
}

export function createDuration(nanoseconds: bigint): Duration {
  if (nanoseconds < -durationMax - 1n || nanoseconds > durationMax) throw new EvaluationError('duration overflow');
  return new Duration(nanoseconds);
}

/** RFC 3339 in capital letters, with up to nine digits of a second. */
const written = /^(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:Z|([-+])(\d\d):(\d\d))$/;

export function parseTimestamp(text: string): Timestamp {
  const [, date, hours, minutes, seconds, fraction = '', sign, offsetHours, offsetMinutes] = written.exec(text) ?? [];
  const day = date === undefined ? Number.NaN : Date.parse(`${date}T00:00:00Z`);
  const inRange =
    Number(hours) < 24 &&
    Number(minutes) < 60 &&
    Number(seconds) < 60 &&
    Number(offsetHours ?? 0) <= 24 &&
    Number(offsetMinutes ?? 0) <= 60;
  // A day that a month does not have would be read as one of the next month.
  if (Number.isNaN(day) || !inRange || new Date(day).toISOString().slice(0, 10) !== date)
    throw new EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'");
  const offset = sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(offsetHours) * 60 + Number(offsetMinutes));
  const second = day / 1000 + Number(hours) * 3600 + (Number(minutes) - offset) * 60 + Number(seconds);
  return createTimestamp(BigInt(second) * perSecond + BigInt(fraction.padEnd(9, '0')));
}

export function formatTimestamp({ nanoseconds }: Timestamp): string {
  const fraction = floorMod(nanoseconds, perSecond);
  const date = new Date(Number((nanoseconds - fraction) / 1_000_000n));
  const digits = fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`;
  return `${date.toISOString().slice(0, 19)}${digits}Z`;
}

const units: ReadonlyMap<string, bigint> = new Map([
  ['h', 3600n * perSecond],
  ['m', 60n * perSecond],
  ['s', perSecond],
  ['ms', 1_000_000n],
  ['us', 1000n],
  ['µs', 1000n],
  ['ns', 1n],
]);

/** More digits than any duration has would only be work. */
const durationLengthMax = 100;

/** `1h30m`, `-1.5s` */
export function parseDuration(text: string): Duration {
  const [, sign, amounts = ''] = /^([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+|0)$/.exec(text) ?? [];
  if (amounts === '' || text.length > durationLengthMax)
    throw new EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'");
  let total = 0n;
  for (const [, whole, fraction = '', unit = ''] of amounts.matchAll(/(\d*)\.?(\d*)(h|ms|m|s|us|µs|ns)/g)) {
    const scale = requireValue(units.get(unit), 'each unit of the pattern has a scale');
    total += BigInt(whole || 0) * scale + (BigInt(fraction || 0) * scale) / 10n ** BigInt(fraction.length);
  }
  return createDuration(sign === '-' ? -total : total);
}

/** In seconds, as JSON writes it: `5400s`, `-1.5s`. */
export function formatDuration({ nanoseconds }: Duration): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction =
    size % perSecond === 0n
      ? ''
      : `.${String(size % perSecond)
          .padStart(9, '0')
          .replace(/0+$/, '')}`;
  return `${nanoseconds < 0n ? '-' : ''}${size / perSecond}${fraction}s`;
}

const floorMod = (value: bigint, by: bigint): bigint => ((value % by) + by) % by;

const perHour = 3600n * perSecond;

/** The words for units of OpenAPI's durations: one that begins so, or is equal to one of the others. */
const wordsOfUnits: readonly (readonly [pattern: RegExp, nanoseconds: bigint])[] = [
  [/^(?:ns|nano.*)$/i, 1n],
  [/^(?:us|µs|micro.*)$/i, 1000n],
  [/^(?:ms|milli.*)$/i, 1_000_000n],
  [/^(?:s|sec.*)$/i, perSecond],
  [/^(?:m|min.*)$/i, 60n * perSecond],
  [/^(?:h|hr|hour.*)$/i, perHour],
  [/^(?:d|day.*)$/i, 24n * perHour],
  [/^(?:w|wk|week.*)$/i, 7n * 24n * perHour],
];

/** `1h30m` or `3 weeks`, as OpenAPI's format of durations has it. */
export function parseWordyDuration(text: string): Duration {
  const amounts = text.length > durationLengthMax ? [] : [...text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)];
  const known = amounts.flatMap(([, amount = '', word = '']) => {
    const unit = wordsOfUnits.find(([pattern]) => pattern.test(word));
    return unit ? [BigInt(amount) * unit[1]] : [];
  });
  try {
    return parseDuration(text);
  } catch (error) {
    if (!(error instanceof EvaluationError) || known.length === 0) throw error;
    return createDuration(known.reduce((total, part) => total + part, 0n));
  }
}
