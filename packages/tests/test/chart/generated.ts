/** Generated parts of the chart: a part of values.schema.json and the table of README.md. */
import { chart, isMap, ownFlags, read, type Value, valueAt, values } from './chart-files.ts';
import { type DeclaredFlag, declaredFlags } from './declared-flags.ts';

type Schema = { readonly [name: string]: Schema | Value };

const exits = ['help', 'version'];
/** `null` removes a default of the chart. */
const nullable = (type: string): Schema => ({ type: [type, 'null'] });
const named: Readonly<Record<string, Schema>> = {
  '': nullable('boolean'),
  int: nullable('integer'),
  float: nullable('number'),
  duration: { anyOf: [{ $ref: '#/definitions/duration' }, { type: 'null' }] },
  strings: { type: ['array', 'null'], items: { type: 'string' } },
};

function schemaOf({ placeholder }: DeclaredFlag): Schema {
  if (placeholder.startsWith('name=value'))
    return { type: ['object', 'null'], additionalProperties: { type: ['string', 'boolean', 'number'] } };
  if (placeholder.includes('|')) return { enum: [...placeholder.split('|'), null] };
  return named[placeholder] ?? nullable('string');
}

/** The schema of the value `flags`: every flag that no other value sets. */
const flagsSchema = (): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(
    declaredFlags
      .filter(({ name }) => !ownFlags.includes(name) && !exits.includes(name))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map((flag) => [flag.name, schemaOf(flag)]),
  ),
});

export function schemaText(): string {
  const schema = JSON.parse(read('values.schema.json')) as { properties: Record<string, Schema> };
  schema.properties.flags = flagsSchema();
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

interface DocumentedValue {
  readonly section: string;
  readonly place: string;
  readonly text: string;
}

/** The comments of values.yaml that start with `# --`, each with the key below it. */
function documentedValues(): readonly DocumentedValue[] {
  const documented: DocumentedValue[] = [];
  let section = '';
  let comment: string | undefined;
  let open: readonly { readonly indent: number; readonly name: string }[] = [];
  for (const line of read('values.yaml').split('\n')) {
    section = /^# @section (.+)$/.exec(line)?.[1] ?? section;
    comment = /^\s*# -- (.+)$/.exec(line)?.[1] ?? comment;
    const [, spaces, name] = /^( *)([A-Za-z0-9/.-]+):/.exec(line) ?? [];
    if (spaces === undefined || name === undefined) continue;
    open = [...open.filter(({ indent }) => indent < spaces.length), { indent: spaces.length, name }];
    if (comment === undefined) continue;
    documented.push({ section, place: open.map((key) => key.name).join('.'), text: comment });
    comment = undefined;
  }
  return documented;
}

const tableStart = '<!-- values: written by npm run chart -- write -->\n';
const tableEnd = '<!-- end of values -->\n';

export function readmeText(): string {
  const documented = documentedValues();
  const sections = Map.groupBy(documented, ({ section }) => section);
  const isParent = (place: string): boolean => documented.some((other) => other.place.startsWith(`${place}.`));
  const row = ({ place, text }: DocumentedValue): string =>
    `| \`${place}\` | ${isParent(place) ? '' : `\`${JSON.stringify(valueAt(place))}\``} | ${text.replaceAll('|', '\\|')} |`;
  const tables = [...sections].map(
    ([section, rows]) => `### ${section}\n\n| value | default | |\n|---|---|---|\n${rows.map(row).join('\n')}\n`,
  );
  const readme = read('README.md');
  const start = readme.indexOf(tableStart);
  const end = readme.indexOf(tableEnd);
  if (start < 0 || end < start) throw new Error(`${chart}/README.md has no markers for the table of values`);
  return `${readme.slice(0, start)}${tableStart}\n${tables.join('\n')}\n${readme.slice(end)}`;
}

/** Leaves of values.yaml without a comment on themselves or on an enclosing map. */
export function undocumentedValues(): readonly string[] {
  const known = new Set(documentedValues().map(({ place }) => place));
  const leaves = (value: Value | undefined, place: string): readonly string[] => {
    if (known.has(place) && !documentedValues().some((other) => other.place.startsWith(`${place}.`))) return [];
    if (!isMap(value)) return known.has(place) ? [] : [place];
    return Object.entries(value).flatMap(([name, one]) => leaves(one, place === '' ? name : `${place}.${name}`));
  };
  return Object.entries(values).flatMap(([name, value]) => leaves(value, name));
}
