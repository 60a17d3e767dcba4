import { MalformedTextError, type Parsed, parseYaml, YamlTooLargeError } from '@cluster-apiserver/model';
import { ConfigurationError, Findings } from './findings.ts';
import { type Fields, type ObjectSchema, object, string } from './schema.ts';
import { structureProblems } from './structure.ts';
import { Written, type WrittenFields } from './written.ts';

export { ConfigurationError };

/** The group of our documentation, and the one that files for the reference have. */
const usualGroups = ['apiserver.config.platform.io', 'apiserver.config.k8s.io'];

/** A kind of configuration: what its files are called and what may be in them. */
export interface DeclaredKind<Declared extends Fields = Fields> {
  readonly kind: string;
  /** The first is the one to write. */
  readonly apiVersions: readonly string[];
  readonly schema: ObjectSchema<Declared>;
}

interface Declaration<Declared extends Fields> {
  readonly kind: string;
  /** Others than the usual ones. */
  readonly groups?: readonly string[];
  /** Without their group, newest first. */
  readonly versions: readonly string[];
  readonly description: string;
  readonly fields: Declared;
  readonly required?: readonly (keyof Declared & string)[];
}

export function declareKind<Declared extends Fields>({
  kind,
  groups = usualGroups,
  versions,
  description,
  fields,
  required = [],
}: Declaration<Declared>): DeclaredKind<Declared> {
  const apiVersions = groups.flatMap((group) => versions.map((version) => (group ? `${group}/${version}` : version)));
  const own = {
    apiVersion: string('Version of this schema.', { enum: apiVersions }),
    kind: string('Kind of the file.', { enum: [kind] }),
  };
  const schema = object<Fields>(
    description,
    { ...own, ...fields },
    { required: ['apiVersion', 'kind', ...required] },
  ) as ObjectSchema<Declared>; // and the two that every file has
  return { kind, apiVersions, schema };
}

export type Read<Declared extends Fields, T> = (fields: WrittenFields<Declared>) => T;

/** Reads YAML or JSON strictly. Throws a ConfigurationError that holds all there is to say. */
export function loadConfiguration<Declared extends Fields, T>(
  kind: DeclaredKind<Declared>,
  read: Read<Declared, T>,
  text: string,
  findings = new Findings(text),
): T {
  const configuration = readConfiguration(kind, read, text, findings);
  findings.requireNoProblems();
  return configuration;
}

/**
 * The same for a file that names other files: what is wrong with those can be found before `requireNoProblems` reports
 * all of it. Throws a ConfigurationError for a text in which nothing can be found.
 */
export function readConfiguration<Declared extends Fields, T>(
  kind: DeclaredKind<Declared>,
  read: Read<Declared, T>,
  text: string,
  findings: Findings,
): T {
  return readEmbedded(kind, read, requireContent(parseText(text, findings), findings), '', findings);
}

/** Throws a ConfigurationError for a file that says nothing. */
export function requireContent(value: unknown, findings: Findings): unknown {
  if (value !== null && value !== undefined) return value;
  if (findings.problems.length === 0) findings.add('', 'the file is empty');
  throw new ConfigurationError(findings.problems);
}

/** Reads a configuration that is a part of another one, at a path of that. */
export function readEmbedded<Declared extends Fields, T>(
  { kind, apiVersions, schema }: DeclaredKind<Declared>,
  read: Read<Declared, T>,
  value: unknown,
  path: string,
  findings: Findings,
): T {
  const structure = structureProblems(schema, value, path);
  const refused = structure.filter(({ isOfForm }) => isOfForm);
  for (const problem of refused) findings.add(problem.path, problem.message, problem.key);
  const before = findings.problems.length;
  const fields = new Written(schema, value, path, findings).fields();
  const own = fields as WrittenFields<typeof ownFields>; // every kind has them
  require(own.kind, [kind]);
  require(own.apiVersion, apiVersions);
  const configuration = read(fields);
  // Whoever reads a value of another type finds none, and says so.
  const unreadable = new Set(refused.filter(({ key }) => key === undefined).map((problem) => problem.path));
  findings.dropFrom(before, (problem) => placesAround(problem.path).some((place) => unreadable.has(place)));
  const said = new Set(findings.problems.slice(before).flatMap((problem) => placesAround(problem.path)));
  for (const problem of structure)
    if (!problem.isOfForm && !unreadable.has(problem.path) && !said.has(problem.path))
      findings.add(problem.path, problem.message);
  return configuration;
}

/** A path with those of all that is around it: `a[0].b`, `a[0]`, `a` and the root. */
function placesAround(path: string): readonly string[] {
  const ends = Array.from(path.matchAll(/[.[]/g), ({ index }) => index);
  return [path, ...ends.map((end) => path.slice(0, end)), ''];
}

const ownFields = { apiVersion: string(''), kind: string('') };

function require(written: Written, allowed: readonly string[]): void {
  const found = written.text();
  if (written.absent || (found !== undefined && !allowed.includes(found)))
    written.wrong(`expected ${allowed.join(' or ')}`);
}

/** Read at start and at reloads, and by operators: far beyond any file, and still a fraction of a second. */
const configurationBytesMax = 512 * 1024;

/** Throws a ConfigurationError for a text in which nothing can be found. */
export function parseText(text: string, findings: Findings): unknown {
  const { value, faults, hasMoreDocuments } = parsed(text, findings);
  if (faults.length > 0) findings.addDuplicateKeys();
  if (hasMoreDocuments) findings.add('', 'the file holds more than one document: remove all but one');
  return value;
}

function parsed(text: string, findings: Findings): Parsed {
  try {
    return parseYaml(text, configurationBytesMax);
  } catch (error) {
    if (error instanceof YamlTooLargeError) throw new ConfigurationError([error.message]);
    if (!(error instanceof MalformedTextError)) throw error;
    // Its message shows a piece of the text, which may be a secret: only the place is told.
    const [, line, column] = / at line (\d+), column (\d+)/.exec(error.message) ?? [];
    const place = line === undefined ? undefined : { line: Number(line), column: Number(column) };
    const where = place ? ` at line ${place.line}, column ${place.column}` : '';
    findings.addAt(place, '', `the file is not valid YAML${where}`);
    throw new ConfigurationError(findings.problems);
  }
}
