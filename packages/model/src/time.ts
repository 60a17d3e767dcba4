/**
 * The two time formats of the API. Inside the server a time is its canonical text in UTC: texts of one format compare
 * in the order of the times they name.
 */

const timeForm = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** A canonical time, null for the unset time (the first second of year 1), or undefined when the text is no time. */
export const parseTime = (text: string): string | null | undefined =>
  isCanonicalTime(text) ? text : parse(text, () => '');

/** The same with exactly six decimal places. */
export const parseMicroTime = (text: string): string | null | undefined =>
  parse(text, (fraction) => (fraction?.length === 6 ? `.${fraction}` : undefined));

function parse(
  text: string,
  formatFraction: (fraction: string | undefined) => string | undefined,
): string | null | undefined {
  const match = timeForm.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, zoneHour, zoneMinute] = match;
  const tail = formatFraction(fraction);
  if (tail === undefined) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > daysIn(Number(year), Number(month)))
    return undefined;
  let seconds = text.slice(0, 19);
  if (sign !== undefined) {
    if (Number(zoneHour) > 24 || Number(zoneMinute) > 60) return undefined;
    const offsetMs = (Number(zoneHour) * 60 + Number(zoneMinute)) * 60_000;
    const utc = new Date(Date.parse(`${seconds}Z`) + (sign === '+' ? -offsetMs : offsetMs));
    const shifted = utc.getUTCFullYear();
    if (shifted < 1 || shifted > 9999) return undefined;
    seconds = utc.toISOString().slice(0, 19);
  }
  if (seconds === '0001-01-01T00:00:00' && /^\.?0*$/.test(tail)) return null;
  return `${seconds}${tail}Z`;
}

/** Whether a text is a time in the form that the server writes, which most are, without the work of `parse`. */
function isCanonicalTime(text: string): boolean {
  if (text.length !== canonicalForm.length) return false;
  for (let at = 0; at < canonicalForm.length; at++) {
    const given = text.charCodeAt(at);
    const expected = canonicalForm.charCodeAt(at);
    if (expected === zero ? given < zero || given > nine : given !== expected) return false;
  }
  // Days that only some months have, and the first years, are left to `parse`.
  const day = twoDigits(text, 8);
  const month = twoDigits(text, 5);
  return (
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= 28 &&
    twoDigits(text, 11) < 24 &&
    twoDigits(text, 14) < 60 &&
    twoDigits(text, 17) < 60 &&
    text.charCodeAt(0) !== zero
  );
}

/** Each 0 stands for a digit. */
const canonicalForm = '0000-00-00T00:00:00Z';
const zero = 0x30;
const nine = 0x39;
const twoDigits = (text: string, at: number): number =>
  (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
};

/** A point of wall time, in milliseconds, as the canonical text of whole seconds. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== formatted.second) formatted = { second, text: `${new Date(ms).toISOString().slice(0, 19)}Z` };
  return formatted.text;
}

/** Most times that are written are of now: each second is made once. */
let formatted = { second: Number.NaN, text: '' };

/** The same with six decimal places, of which this server knows three. */
export const formatMicroTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`;
