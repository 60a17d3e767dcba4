import type { Budget } from '../run/budget.ts';
import { perSecond } from '../values/time.ts';
import { type Duration, EvaluationError, type Timestamp } from '../values/value.ts';
import { defineMethod, type Overload } from './overload.ts';

/** Days and hours of a moment, in UTC or where it is asked for; and the units of a duration. */
export const times: readonly Overload[] = [
  ...partOfMoment('getFullYear', (date) => date.getUTCFullYear()),
  ...partOfMoment('getMonth', (date) => date.getUTCMonth()),
  ...partOfMoment('getDate', (date) => date.getUTCDate()),
  ...partOfMoment('getDayOfMonth', (date) => date.getUTCDate() - 1),
  ...partOfMoment('getDayOfWeek', (date) => date.getUTCDay()),
  ...partOfMoment('getDayOfYear', (date) => {
    const newYear = new Date(date);
    newYear.setUTCMonth(0, 1);
    return Math.round((date.getTime() - newYear.getTime()) / 86_400_000);
  }),
  ...partOfMoment('getHours', (date) => date.getUTCHours()),
  ...partOfMoment('getMinutes', (date) => date.getUTCMinutes()),
  ...partOfMoment('getSeconds', (date) => date.getUTCSeconds()),
  ...partOfMoment('getMilliseconds', (date) => date.getUTCMilliseconds()),
  unitOfDuration('getHours', 3600n * perSecond),
  unitOfDuration('getMinutes', 60n * perSecond),
  unitOfDuration('getSeconds', perSecond),
  defineMethod('duration', 'getMilliseconds() -> int', ({ nanoseconds }: Duration) => nanoseconds / 1_000_000n),
];

function partOfMoment(name: string, part: (date: Date) => number): Overload[] {
  return [
    defineMethod('timestamp', `${name}() -> int`, (moment: Timestamp) => BigInt(part(dateOf(moment)))),
    defineMethod('timestamp', `${name}(string) -> int`, (moment: Timestamp, zone: string, budget: Budget) =>
      BigInt(part(dateIn(zone, dateOf(moment), budget))),
    ),
  ];
}

function unitOfDuration(name: string, unit: bigint): Overload {
  return defineMethod('duration', `${name}() -> int`, ({ nanoseconds }: Duration) => nanoseconds / unit);
}

const dateOf = ({ nanoseconds }: Timestamp): Date => {
  const milliseconds = nanoseconds / 1_000_000n;
  return new Date(Number(nanoseconds % 1_000_000n < 0n ? milliseconds - 1n : milliseconds));
};

/** The date that shows in UTC what clocks there show. Looking up a zone costs as much as a thousand steps. */
function dateIn(zone: string, date: Date, budget: Budget): Date {
  const [, sign, hours, minutes] = /^([-+]?)(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (hours !== undefined) {
    const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
    return new Date(date.getTime() + offset * 60_000);
  }
  if (zone === '') return date;
  budget.charge(1000);
  return new Date(date.getTime() + offsetOf(zone, date));
}

function offsetOf(timeZone: string, date: Date): number {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    const name = format.formatToParts(date).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes, seconds] = /GMT([-+])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? [];
    const offset = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds ?? 0)) * 1000;
    return sign === '-' ? -offset : offset;
  } catch (cause) {
    throw new EvaluationError('unknown time zone', { cause });
  }
}
