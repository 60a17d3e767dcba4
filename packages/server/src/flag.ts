import { formatDuration, parseDuration } from '@cluster-apiserver/base';

/** The declaration of a flag. Reading, `--help`, the reference in docs/flags.md and the typed options follow from it. */
export interface Flag<T> {
  readonly help: string;
  /** As an operator would write it. */
  readonly default: string;
  /** What stands behind `--name` in the help; a flag without it is a switch. */
  readonly placeholder?: string;
  /** Undefined when the text is no such value. */
  readonly parse: (string: string) => T | undefined;
  /** What a value should have looked like. */
  readonly expected: string;
  /** What several of them mean; without it the last counts. */
  join?(values: readonly T[]): T;
}

type FlagDescription<T> = Pick<Flag<T>, 'help' | 'default'>;

export const text = (flag: FlagDescription<string>, placeholder = 'string'): Flag<string> => ({
  ...flag,
  placeholder,
  parse: (value) => value,
  expected: 'a text',
});
export const path = (flag: FlagDescription<string>): Flag<string> => text(flag, 'path');
export const integer = (flag: FlagDescription<number>, [least, most]: readonly [number, number]): Flag<number> => ({
  ...flag,
  placeholder: 'int',
  parse: (value) =>
    /^-?[0-9]+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined,
  expected: `a whole number from ${least} to ${most}`,
});
export const fraction = (flag: FlagDescription<number>, [least, most]: readonly [number, number]): Flag<number> => ({
  ...flag,
  placeholder: 'float',
  parse: (value) =>
    /^[0-9]*\.?[0-9]+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined,
  expected: `a number from ${least} to ${most}`,
});
export const durationMs = (flag: FlagDescription<number>): Flag<number> => ({
  ...flag,
  placeholder: 'duration',
  parse: (value) => {
    const parsed = parseDuration(value);
    return parsed !== undefined && parsed >= 0 ? parsed : undefined;
  },
  expected: 'a duration such as 30s, 5m or 1h30m',
});
export const list = (flag: FlagDescription<readonly string[]>): Flag<readonly string[]> => ({
  ...flag,
  placeholder: 'strings',
  parse: (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  expected: 'a list, separated by commas',
  join: (lists) => lists.flat(),
});
export const pairs = (flag: FlagDescription<ReadonlyMap<string, string>>): Flag<ReadonlyMap<string, string>> => ({
  ...flag,
  placeholder: 'name=value,…',
  parse: (value) => {
    const parts = value
      .split(',')
      .filter((part) => part !== '')
      .map((part) => part.split('=', 2).map((side) => side.trim()));
    return parts.every(([name, given]) => name && given) ? new Map(parts as [string, string][]) : undefined;
  },
  expected: 'pairs such as A=true,B=false',
  join: joinMaps,
});
/** One pair, whose value may hold commas; several flags give several. */
export const pair = (flag: FlagDescription<ReadonlyMap<string, string>>): Flag<ReadonlyMap<string, string>> => ({
  ...flag,
  placeholder: 'name=value',
  parse: (value) => {
    if (value === '') return new Map();
    const [, name, given] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
    return name === undefined || given === undefined ? undefined : new Map([[name.trim(), given]]);
  },
  expected: 'a pair such as name=value',
  join: joinMaps,
});
const joinMaps = (maps: readonly ReadonlyMap<string, string>[]): ReadonlyMap<string, string> =>
  new Map(maps.flatMap((map) => [...map]));
export const oneOf = <T extends string>(flag: FlagDescription<T>, values: readonly T[]): Flag<T> => ({
  ...flag,
  placeholder: values.join('|'),
  parse: (value) => values.find((one) => one === value),
  expected: `one of ${values.join(', ')}`,
});
export const boolean = (flag: Omit<FlagDescription<boolean>, 'default'>): Flag<boolean> => ({
  ...flag,
  default: 'false',
  parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  expected: 'true or false',
});

/** A switch that can be left alone, where that says something else than off. */
export const optionalBoolean = (flag: Omit<FlagDescription<boolean>, 'default'>): Flag<boolean | 'unset'> => ({
  ...flag,
  default: '',
  parse: (value) => (value === '' ? 'unset' : value === 'true' ? true : value === 'false' ? false : undefined),
  expected: 'true or false',
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
  toComparable(value) !== toComparable(flag.parse(flag.default));

const toComparable = (value: unknown): string => JSON.stringify(value instanceof Map ? [...value] : value);

/** A value as it would be written on the command line. */
export function formatFlag({ placeholder }: Flag<unknown>, value: unknown): string {
  if (placeholder === 'duration') return formatDuration(Number(value));
  if (value instanceof Map) return [...value].map(([name, given]) => `${name}=${given}`).join(',');
  return value === 'unset' ? '' : String(value);
}
