import { formatDuration, parseDuration } from '@cluster-apiserver/base';

/** The declaration of a flag. Reading, `--help`, the reference in docs/flags.md and the typed options follow from it. */
export interface Flag<T> {
  readonly help: string;
  /** As an operator would write it. */
  readonly fallback: string;
  /** What stands behind `--name` in the help; a flag without it is a switch. */
  readonly placeholder?: string;
  /** Undefined when the text is no such value. */
  readonly read: (text: string) => T | undefined;
  /** What a value should have looked like. */
  readonly wanted: string;
  /** What several of them mean; without it the last counts. */
  join?(values: readonly T[]): T;
}

type Described<T> = Pick<Flag<T>, 'help' | 'fallback'>;

export const text = (flag: Described<string>, placeholder = 'string'): Flag<string> => ({
  ...flag,
  placeholder,
  read: (value) => value,
  wanted: 'a text',
});
export const path = (flag: Described<string>): Flag<string> => text(flag, 'path');
export const integer = (flag: Described<number>, [least, most]: readonly [number, number]): Flag<number> => ({
  ...flag,
  placeholder: 'int',
  read: (value) =>
    /^-?[0-9]+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined,
  wanted: `a whole number from ${least} to ${most}`,
});
export const fraction = (flag: Described<number>, [least, most]: readonly [number, number]): Flag<number> => ({
  ...flag,
  placeholder: 'float',
  read: (value) =>
    /^[0-9]*\.?[0-9]+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined,
  wanted: `a number from ${least} to ${most}`,
});
export const durationMs = (flag: Described<number>): Flag<number> => ({
  ...flag,
  placeholder: 'duration',
  read: (value) => {
    const parsed = parseDuration(value);
    return parsed !== undefined && parsed >= 0 ? parsed : undefined;
  },
  wanted: 'a duration such as 30s, 5m or 1h30m',
});
export const list = (flag: Described<readonly string[]>): Flag<readonly string[]> => ({
  ...flag,
  placeholder: 'strings',
  read: (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  wanted: 'a list, separated by commas',
  join: (lists) => lists.flat(),
});
export const pairs = (flag: Described<ReadonlyMap<string, string>>): Flag<ReadonlyMap<string, string>> => ({
  ...flag,
  placeholder: 'name=value,…',
  read: (value) => {
    const parts = value
      .split(',')
      .filter((part) => part !== '')
      .map((part) => part.split('=', 2).map((side) => side.trim()));
    return parts.every(([name, given]) => name && given) ? new Map(parts as [string, string][]) : undefined;
  },
  wanted: 'pairs such as A=true,B=false',
  join: joinMaps,
});
/** One pair, whose value may hold commas; several flags give several. */
export const pair = (flag: Described<ReadonlyMap<string, string>>): Flag<ReadonlyMap<string, string>> => ({
  ...flag,
  placeholder: 'name=value',
  read: (value) => {
    if (value === '') return new Map();
    const [, name, given] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
    return name === undefined || given === undefined ? undefined : new Map([[name.trim(), given]]);
  },
  wanted: 'a pair such as name=value',
  join: joinMaps,
});
const joinMaps = (maps: readonly ReadonlyMap<string, string>[]): ReadonlyMap<string, string> =>
  new Map(maps.flatMap((map) => [...map]));
export const oneOf = <T extends string>(flag: Described<T>, values: readonly T[]): Flag<T> => ({
  ...flag,
  placeholder: values.join('|'),
  read: (value) => values.find((one) => one === value),
  wanted: `one of ${values.join(', ')}`,
});
export const flagSwitch = (flag: Omit<Described<boolean>, 'fallback'>): Flag<boolean> => ({
  ...flag,
  fallback: 'false',
  read: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  wanted: 'true or false',
});

/** A switch that can be left alone, where that says something else than off. */
export const openSwitch = (flag: Omit<Described<boolean>, 'fallback'>): Flag<boolean | 'unset'> => ({
  ...flag,
  fallback: '',
  read: (value) => (value === '' ? 'unset' : value === 'true' ? true : value === 'false' ? false : undefined),
  wanted: 'true or false',
});

/** The values that the flags of a table have. */
export type FlagValues<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer T> ? T : never;
};

/** Everything that is wrong with a command line. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

/** Whether a flag has another value than the one that it has by default. */
export const isGiven = (flag: Flag<unknown>, value: unknown): boolean =>
  shownValue(value) !== shownValue(flag.read(flag.fallback));

const shownValue = (value: unknown): string => JSON.stringify(value instanceof Map ? [...value] : value);

/** A value as it would be written on the command line. */
export function flagText({ placeholder }: Flag<unknown>, value: unknown): string {
  if (placeholder === 'duration') return formatDuration(Number(value));
  if (value instanceof Map) return [...value].map(([name, given]) => `${name}=${given}`).join(',');
  return value === 'unset' ? '' : String(value);
}
