import type { Budget } from '../run/budget.ts';
import { formatDouble } from '../values/double.ts';
import { MapValue } from '../values/map-value.ts';
import { formatDuration, formatTimestamp } from '../values/time.ts';
import { Duration, EvaluationError, Timestamp, TypeValue, Uint, type Value } from '../values/value.ts';
import { method, type Overload } from './overload.ts';

/** `'%s has %d'.format(['a', 1])` */
export const format: readonly Overload[] = [
  method('string', 'format(list(dyn)) -> string', (pattern: string, values: readonly Value[], budget: Budget) => {
    let used = 0;
    const formatted = pattern.replaceAll(
      /%(?:%|(?:\.(\d*))?([^]?))/g,
      (clause, precision: string | undefined, verb?: string) => {
        if (clause === '%%') return '%';
        if (used >= values.length) throw new EvaluationError(`index ${used} out of range`);
        const write = Object.hasOwn(verbs, verb ?? '') ? verbs[verb as keyof typeof verbs] : undefined;
        if (!write)
          throw new EvaluationError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
        if (Number(precision) > precisionMax) throw new EvaluationError(`a precision is at most ${precisionMax}`);
        const written = write(values[used++] as Value, precision === undefined ? 6 : Number(precision), budget);
        budget.charge(1 + (written.length >> 4));
        return written;
      },
    );
    return formatted;
  }),
];

/** A double has no more digits to show; the texts would only grow. */
const precisionMax = 100;

const verbs = {
  s: (value: Value, _: number, budget: Budget) => plain(value, budget),
  d: (value: Value) => (typeof value === 'number' ? special(value) : undefined) ?? String(whole(value, 'd')),
  f: (value: Value, precision: number) => fixed(value, precision),
  e: (value: Value, precision: number) => exponential(value, precision),
  b: (value: Value) => (typeof value === 'boolean' ? String(Number(value)) : whole(value, 'b').toString(2)),
  o: (value: Value) => whole(value, 'o').toString(8),
  x: (value: Value) => hexadecimal(value),
  X: (value: Value) => hexadecimal(value).toUpperCase(),
} as const;

const special = (value: number): string | undefined => {
  if (Number.isFinite(value)) return undefined;
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? 'Infinity' : '-Infinity';
};

/** A double may stand where a whole number is wanted only if it is none at all, such as NaN. */
function whole(value: Value, verb: string): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw new EvaluationError(`error during formatting: %${verb} can only be used on whole numbers`);
}

function decimal(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  throw new EvaluationError('error during formatting: only numbers can be written with a decimal point');
}

function fixed(value: Value, precision: number): string {
  const number = decimal(value);
  if (!Number.isFinite(number) || Math.abs(number) >= 1e21) return special(number) ?? BigInt(number).toString();
  // JavaScript rounds what lies just between two results upwards, others to the even one.
  const [, digits = '', rest = ''] =
    new RegExp(`^(.*\\.\\d{${precision}})(\\d*)$`).exec(number.toFixed(precisionMax)) ?? [];
  const toEven = /^50*$/.test(rest) && /[02468]\.?$/.test(digits);
  return toEven ? digits.replace(/\.$/, '') : number.toFixed(precision);
}

function exponential(value: Value, precision: number): string {
  const number = decimal(value);
  return special(number) ?? number.toExponential(precision).replace(/([-+])(\d)$/, '$10$2');
}

function hexadecimal(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return whole(value, 'x').toString(16);
}

function plain(value: Value, budget: Budget): string {
  budget.charge(1);
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return special(value) ?? formatDouble(value);
  if (value === null || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (Array.isArray(value)) return `[${value.map((element) => plain(element, budget)).join(', ')}]`;
  if (value instanceof MapValue) {
    const entries = Array.from(value.entries(), ([key, held]) => [plain(key, budget), plain(held, budget)] as const);
    entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${entries.map(([key, held]) => `${key}: ${held}`).join(', ')}}`;
  }
  throw new EvaluationError('error during formatting: this has no text');
}
