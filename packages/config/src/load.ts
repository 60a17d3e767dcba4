import type { Path, Problems } from '@cluster-apiserver/model';
import { parseYaml, YamlTooLargeError } from '@cluster-apiserver/model/codec';
import { MalformedTextError, NestedTooDeepError, nestingMax, type Parsed } from '@cluster-apiserver/model/json';
import {
  decode,
  type FieldDeclaration,
  type FieldDeclarations,
  type FieldValues,
  object,
  type ObjectSchema,
} from '@cluster-apiserver/model/schema';
import { ConfigurationError, type Findings } from './findings.ts';
import { checkedString, required } from './schema.ts';

/** The group of the documentation of this server, and that of kube-apiserver. */
const usualGroups = ['apiserver.config.platform.io', 'apiserver.config.k8s.io'];

/** A kind of configuration file: like a kind of the API, and never stored. */
export interface ConfigurationKind<Value = unknown> {
  readonly kind: string;
  /** The first is the preferred one. */
  readonly apiVersions: readonly string[];
  readonly description: string;
  readonly schema: ObjectSchema<Value>;
}

export function defineConfigurationKind<F extends FieldDeclarations>({
  kind,
  groups = usualGroups,
  versions,
  description,
  fields,
}: {
  readonly kind: string;
  /** Defaults to the usual groups. */
  readonly groups?: readonly string[];
  /** Without their group, newest first. */
  readonly versions: readonly string[];
  readonly description: string;
  readonly fields: F;
}): ConfigurationKind<FieldValues<F>> {
  const apiVersions = groups.flatMap((group) => versions.map((version) => (group ? `${group}/${version}` : version)));
  const own = {
    kind: oneOfThese([kind], 'Kind of the file.'),
    apiVersion: oneOfThese(apiVersions, 'Version of this schema.'),
  };
  return { kind, apiVersions, description, schema: object({ ...own, ...fields }) };
}

function oneOfThese(values: readonly string[], description: string): FieldDeclaration {
  const expected = `expected ${values.join(' or ')}`;
  const schema = checkedString((value, at) => {
    if (!values.includes(value)) at.report(expected);
  });
  return required({ ...schema, rules: { enum: values } }, description, expected);
}

/** Makes of the values of a file what the server uses, and reports what is wrong with them. */
export type ReadConfiguration<Value, T> = (value: Value, at: Problems) => T;

/** Reads YAML or JSON strictly. Throws a ConfigurationError with all problems. */
export function loadConfiguration<Value, T>(
  kind: ConfigurationKind<Value>,
  read: ReadConfiguration<Value, T>,
  text: string,
  findings: Findings,
): T {
  const configuration = readConfiguration(kind, read, text, findings);
  findings.requireNoProblems();
  return configuration;
}

/**
 * Does not throw for problems, so that the caller can add those of referenced files before `requireNoProblems`. Throws a
 * ConfigurationError only if the text cannot be parsed.
 */
export function readConfiguration<Value, T>(
  kind: ConfigurationKind<Value>,
  read: ReadConfiguration<Value, T>,
  text: string,
  findings: Findings,
): T {
  return readEmbedded(kind, read, parseContent(text, findings), [], findings);
}

/** Throws a ConfigurationError for an empty file. */
export function parseContent(text: string, findings: Findings): unknown {
  const value = parseText(text, findings);
  if (value !== null && value !== undefined) return value;
  if (findings.problems.length === 0) findings.add([], 'the file is empty');
  throw new ConfigurationError(findings.problems);
}

/** Reads a configuration that is embedded in another one at `path`. */
export function readEmbedded<Value, T>(
  { schema }: ConfigurationKind<Value>,
  read: ReadConfiguration<Value, T>,
  value: unknown,
  path: Path,
  findings: Findings,
): T {
  const unknownField = (place: Path): void => findings.addUnknownField([...path, ...place]);
  return read(decode(schema, value, unknownField, { problems: findings.refusing(path) }), findings.at(path));
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
