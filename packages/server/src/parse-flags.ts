import { nearestName } from '@cluster-apiserver/base';
import { type Flag, FlagError, type FlagValues } from './flag.ts';

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
  for (let i = 0; i < args.length; i++) {
    const match = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(args[i] as string);
    if (!match) {
      if (others) others.push(args[i] as string);
      else faults.push(`unexpected argument: ${args[i]}`);
      continue;
    }
    const name = match[1] as string;
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!flag) faults.push(describeUnknownFlag(name, table));
    else if (match[2] !== undefined) add(name, match[2]);
    else if (flag.placeholder === undefined) add(name, 'true');
    else if (i + 1 < args.length) add(name, args[++i] as string);
    else faults.push(`--${name} needs a value`);
  }
  const values = Object.entries(table).map(([name, flag]) => {
    const texts = given.get(name) ?? [flag.default];
    const values = texts.map((one) => {
      const value = flag.parse(one);
      if (value === undefined) faults.push(`--${name}: ${JSON.stringify(one)} is not ${flag.expected}`);
      return value;
    });
    return [name, flag.join && !values.includes(undefined) ? flag.join(values) : values.at(-1)];
  });
  if (faults.length > 0) throw new FlagError(faults);
  return Object.fromEntries(values) as FlagValues<Table>; // each value was parsed by its own flag
}

function describeUnknownFlag(name: string, table: FlagTable): string {
  const nearest = nearestName(name, Object.keys(table));
  return `unknown flag: --${name}${nearest ? `; did you mean --${nearest}?` : ''}`;
}
