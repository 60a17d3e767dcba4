import { nearestName } from '@cluster-apiserver/base';
import { type Flag, FlagError, type FlagValues, withGivenNames } from './flag.ts';

type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/**
 * Parses `--name value`, `--name=value` and, for switches, `--name`. Repeated lists are concatenated; otherwise the last
 * value wins. Positional arguments go to `others`; without it they are errors.
 */
export function parseFlagsOf<Table extends FlagTable>(
  table: Table,
  args: readonly string[],
  others?: string[],
): FlagValues<Table> {
  const faults: string[] = [];
  const given = new Map<string, string[]>();
  const add = (name: string, value: string): void => void given.set(name, [...(given.get(name) ?? []), value]);
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name, value] = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) {
      if (others) others.push(arg);
      else faults.push(`unexpected argument: ${arg}`);
      continue;
    }
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!flag) {
      faults.push(describeUnknownFlag(name, table));
      continue;
    }
    const text = value ?? (flag.placeholder === undefined ? 'true' : rest.shift());
    if (text === undefined) faults.push(`--${name} needs a value`);
    else add(name, text);
  }
  const values = Object.entries(table).map(([name, flag]) => {
    const texts = given.get(name) ?? [flag.default];
    const parsed = texts.map((one) => {
      const value = flag.parse(one);
      if (value === undefined) faults.push(`--${name}: ${JSON.stringify(one)} is not ${flag.expected}`);
      return value;
    });
    return [name, flag.join && !parsed.includes(undefined) ? flag.join(parsed) : parsed.at(-1)];
  });
  if (faults.length > 0) throw new FlagError(faults);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Each value was parsed by its own flag.
  return withGivenNames(Object.fromEntries(values), new Set(given.keys())) as FlagValues<Table>;
}

function describeUnknownFlag(name: string, table: FlagTable): string {
  const nearest = nearestName(name, Object.keys(table));
  return `unknown flag: --${name}${nearest ? `; did you mean --${nearest}?` : ''}`;
}
