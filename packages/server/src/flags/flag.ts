import { isIP } from 'node:net';
import { formatDuration, parseDuration } from '@cluster-apiserver/base';

/** The declaration of a flag. Parsing, `--help`, docs/flags.md and the type of its value follow from it. */
export interface Flag<T> {
  readonly help: string;
  /** In command-line syntax. */
  readonly default: string;
  /** Type of the value in the help. A flag without a placeholder is a switch: `--name` means `--name=true`. */
  readonly placeholder?: string;
  /** Returns undefined for an invalid value. */
  readonly parse: (string: string) => T | undefined;
  /** Description of valid values, for errors. */
  readonly expected: string;
  /** Combines repeated flags; without it the last one wins. */
  join?(values: readonly T[]): T;
}

export const text = (help: string, defaultValue = '', placeholder = 'string'): Flag<string> => ({
  help,
  default: defaultValue,
  placeholder,
  parse: (value) => value,
  expected: 'a text',
});
export const path = (help: string, defaultValue = ''): Flag<string> => text(help, defaultValue, 'path');

type Bounds = readonly [least: number, most: number];

const number =
  (form: RegExp, expected: string, placeholder: string) =>
  (help: string, defaultValue: string, [least, most]: Bounds): Flag<number> => ({
    help,
    default: defaultValue,
    placeholder,
    parse: (value) => (form.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined),
    expected: `${expected} from ${least} to ${most}`,
  });
export const integer = number(/^-?[0-9]+$/, 'a whole number', 'int');
export const fraction = number(/^[0-9]*\.?[0-9]+$/, 'a number', 'float');

/** An address to listen on. As in kube-apiserver, a name is none: it could mean several. */
export const ip = (help: string, defaultValue: string): Flag<string> => ({
  ...text(help, defaultValue, 'ip'),
  parse: (value) => (isIP(value) === 0 ? undefined : value),
  expected: 'an IP address',
});
/** As clients of etcd read them: without a scheme it is http. */
export const etcdUrls = (help: string, defaultValue: string): Flag<readonly string[]> => {
  const { parse, ...rest } = list(help, defaultValue);
  return {
    ...rest,
    parse: (value) => {
      const urls = parse(value)?.map((member) => toEtcdUrl(member));
      return urls === undefined || urls.length === 0 || urls.includes(undefined)
        ? undefined
        : urls.filter((url) => url !== undefined);
    },
    expected: 'a list of URLs such as http://127.0.0.1:2379, separated by commas',
  };
};
export function toEtcdUrl(member: string): string | undefined {
  const isBare = !member.includes('://');
  const address = isBare ? `http://${member}` : member;
  const url = URL.parse(address);
  // A bare name is more often a slip of the pen than a member at port 80.
  if (!url || (isBare && !/:[0-9]+$/.test(member))) return undefined;
  const isOfEtcd = (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '' && url.port !== '0';
  return isOfEtcd && /^\/?$/.test(url.pathname) && url.search === '' && url.hash === '' ? address : undefined;
}
export const durationMs = (help: string, defaultValue: string, bounds?: Bounds): Flag<number> => ({
  help,
  default: defaultValue,
  placeholder: 'duration',
  parse: (value) => {
    const parsed = parseDuration(value);
    const [least, most] = bounds ?? [0, Number.POSITIVE_INFINITY];
    return parsed !== undefined && parsed >= least && parsed <= most ? parsed : undefined;
  },
  expected: `a duration such as 30s, 5m or 1h30m${bounds ? `, from ${bounds.map(formatDuration).join(' to ')}` : ''}`,
});
export const list = (help: string, defaultValue = ''): Flag<readonly string[]> => ({
  help,
  default: defaultValue,
  placeholder: 'strings',
  parse: (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  expected: 'a list, separated by commas',
  join: (lists) => lists.flat(),
});
export const pairs = (help: string): Flag<ReadonlyMap<string, string>> => ({
  help,
  default: '',
  placeholder: 'name=value,…',
  parse: (value) => {
    const given = new Map<string, string>();
    for (const part of value.split(',').filter((one) => one !== '')) {
      const [name, assigned] = part.split('=', 2).map((side) => side.trim());
      if (!name || !assigned) return undefined;
      given.set(name, assigned);
    }
    return given;
  },
  expected: 'pairs such as A=true,B=false',
  join: joinMaps,
});
/** One pair, whose value may contain commas. Repeat the flag for several pairs. */
export const pair = (help: string): Flag<ReadonlyMap<string, string>> => ({
  help,
  default: '',
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
export const oneOf = <T extends string>(help: string, defaultValue: T, values: readonly T[]): Flag<T> => ({
  help,
  default: defaultValue,
  placeholder: values.join('|'),
  parse: (value) => values.find((one) => one === value),
  expected: `one of ${values.join(', ')}`,
});
export const boolean = (help: string, defaultValue: 'false' | 'true' = 'false'): Flag<boolean> => ({
  help,
  default: defaultValue,
  parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  expected: 'true or false',
});

/** A switch whose absence differs from `false`. */
export const optionalBoolean = (help: string): Flag<boolean | 'unset'> => ({
  help,
  default: '',
  parse: (value) => (value === '' ? 'unset' : value === 'true' ? true : value === 'false' ? false : undefined),
  expected: 'true or false',
});

/** Holds the names of the flags that a command line has. */
const givenNames = Symbol('given');

/** The parsed values of a table of flags. */
export type FlagValues<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer T> ? T : never;
} & { readonly [givenNames]?: ReadonlySet<string> };

/** All problems of a command line. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** The settings of a part of the server. Throws a FlagError with all problems. */
export function readSettings<Values, Settings>(
  settingsOf: (values: Values, problems: string[]) => Settings,
  values: Values,
): Settings {
  const problems: string[] = [];
  const settings = settingsOf(values, problems);
  if (problems.length > 0) throw new FlagError(problems);
  return settings;
}

export const withGivenNames = <T extends object>(values: T, names: ReadonlySet<string>): T =>
  Object.defineProperty(values, givenNames, { value: names });

/** Whether the command line has the flag, if only with its default value. */
export const isGiven = (values: { readonly [givenNames]?: ReadonlySet<string> }, name: string): boolean =>
  values[givenNames]?.has(name) === true;

/** A value in command-line syntax. */
export function formatFlag({ placeholder }: Flag<unknown>, value: unknown): string {
  if (placeholder === 'duration') return formatDuration(Number(value));
  if (value instanceof Map) return [...value].map(([name, given]) => `${name}=${given}`).join(',');
  return value === 'unset' ? '' : String(value);
}
