import { formatPath, type Path } from '@cluster-apiserver/model';
import { parseYaml, YamlTooLargeError } from '@cluster-apiserver/model/codec';
import { MalformedTextError, NestedTooDeepError, nestingMax, type Parsed } from '@cluster-apiserver/model/json';
import { ConfigurationError, Findings } from './findings.ts';
import { type Fields, type ObjectSchema, object, string, type StringSchema } from './schema.ts';
import { findStructureProblems } from './structure.ts';
import { ConfigNode, type ConfigNodeFields } from './config-node.ts';

export { ConfigurationError };

/** The group of the documentation of this server, and that of kube-apiserver. */
const usualGroups = ['apiserver.config.platform.io', 'apiserver.config.k8s.io'];

/** A kind of configuration file, with its schema. */
export interface DeclaredKind<Declared extends Fields = Fields> {
  readonly kind: string;
  /** The first is the preferred one. */
  readonly apiVersions: readonly string[];
  readonly schema: ObjectSchema<OwnFields & Declared>;
}

/** The fields that every kind has. */
type OwnFields = Readonly<Record<'apiVersion' | 'kind', StringSchema>>;

interface Declaration<Declared extends Fields> {
  readonly kind: string;
  /** Defaults to the usual groups. */
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
  const own: OwnFields = {
    apiVersion: string('Version of this schema.', { enum: apiVersions }),
    kind: string('Kind of the file.', { enum: [kind] }),
  };
  const schema = object(description, { ...own, ...fields }, { required: ['apiVersion', 'kind', ...required] });
  return { kind, apiVersions, schema };
}

export type ReadFields<Declared extends Fields, T> = (fields: ConfigNodeFields<OwnFields & Declared>) => T;

/** Reads YAML or JSON strictly. Throws a ConfigurationError with all problems. */
export function loadConfiguration<Declared extends Fields, T>(
  kind: DeclaredKind<Declared>,
  read: ReadFields<Declared, T>,
  text: string,
  findings = new Findings(text),
): T {
  const configuration = readConfiguration(kind, read, text, findings);
  findings.requireNoProblems();
  return configuration;
}

/**
 * Does not throw for problems, so that the caller can add those of referenced files before `requireNoProblems`. Throws a
 * ConfigurationError only if the text cannot be parsed.
 */
export function readConfiguration<Declared extends Fields, T>(
  kind: DeclaredKind<Declared>,
  read: ReadFields<Declared, T>,
  text: string,
  findings: Findings,
): T {
  return readEmbedded(kind, read, requireContent(parseText(text, findings), findings), [], findings);
}

/** Throws a ConfigurationError for an empty file. */
export function requireContent(value: unknown, findings: Findings): unknown {
  if (value !== null && value !== undefined) return value;
  if (findings.problems.length === 0) findings.add([], 'the file is empty');
  throw new ConfigurationError(findings.problems);
}

/** Reads a configuration that is embedded in another one at `path`. */
export function readEmbedded<Declared extends Fields, T>(
  { kind, apiVersions, schema }: DeclaredKind<Declared>,
  read: ReadFields<Declared, T>,
  value: unknown,
  path: Path,
  findings: Findings,
): T {
  const structure = findStructureProblems(schema, value, path);
  const refused = structure.filter(({ isUnreadable: isOfForm }) => isOfForm);
  for (const problem of refused) findings.add(problem.path, problem.message, problem.key);
  const before = findings.problems.length;
  const fields = new ConfigNode(schema, value, path, findings).fields();
  requireOneOf(fields.kind, [kind]);
  requireOneOf(fields.apiVersion, apiVersions);
  const configuration = read(fields);
  // A value of a wrong type reads as absent, so `read` reports it as missing: drop these follow-up problems.
  const unreadable = new Set(refused.filter(({ key }) => key === undefined).map((problem) => formatPath(problem.path)));
  findings.dropFrom(before, (problem) => enclosingPaths(problem.path).some((place) => unreadable.has(place)));
  const said = new Set(findings.problems.slice(before).flatMap((problem) => enclosingPaths(problem.path)));
  for (const problem of structure)
    if (!problem.isUnreadable && !unreadable.has(formatPath(problem.path)) && !said.has(formatPath(problem.path)))
      findings.add(problem.path, problem.message);
  return configuration;
}

/** The path and all of its ancestors: `a[0].b`, `a[0]`, `a` and the root. */
const enclosingPaths = (path: Path): readonly string[] => [
  formatPath(path),
  ...path.map((_, index) => formatPath(path.slice(0, index))),
];

function requireOneOf(node: ConfigNode, allowed: readonly string[]): void {
  const found = node.string();
  if (node.isAbsent || (found !== undefined && !allowed.includes(found)))
    node.addProblem(`expected ${allowed.join(' or ')}`);
}

/** Far larger than any real file, and still parsed in a fraction of a second. */
const configurationBytesMax = 512 * 1024;

/** Operators may write as many values in JSON as in YAML. */
const jsonBounds = { valuesMax: Number.POSITIVE_INFINITY, nestingMax };

/** Throws a ConfigurationError if the text cannot be parsed. */
export function parseText(text: string, findings: Findings): unknown {
  const { value, faults, hasMoreDocuments } = parseDocument(text, findings);
  if (faults.length > 0) findings.addDuplicateKeys();
  if (hasMoreDocuments) findings.add([], 'the file holds more than one document: remove all but one');
  return value;
}

function parseDocument(text: string, findings: Findings): Parsed {
  try {
    return parseYaml(text, configurationBytesMax, jsonBounds);
  } catch (error) {
    if (error instanceof YamlTooLargeError)
      throw new ConfigurationError([`the file has more than ${configurationBytesMax} bytes, the limit for YAML`]);
    if (!(error instanceof MalformedTextError)) throw error;
    if (error.cause instanceof NestedTooDeepError)
      throw new ConfigurationError([`the file is nested deeper than ${nestingMax} levels`]);
    // The message of the parser quotes the text, which may be a secret: report only the place.
    const [, line, column] = / at line (\d+), column (\d+)/.exec(error.message) ?? [];
    const place = line === undefined ? undefined : { line: Number(line), column: Number(column) };
    const where = place ? ` at line ${place.line}, column ${place.column}` : '';
    findings.addAt(place, [], `the file is not valid YAML${where}`);
    throw new ConfigurationError(findings.problems);
  }
}
