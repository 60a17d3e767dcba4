import {
  MalformedTextError,
  type Parsed,
  parseYaml,
  type TextFault,
  YamlTooLargeError,
} from '@cluster-apiserver/model';
import { Written } from './written.ts';

/** Everything that is wrong with a file, each as a sentence that begins with a path into it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** The group of our documentation, and the one that files for the reference have. */
const usualGroups = ['apiserver.config.platform.io', 'apiserver.config.k8s.io'];

export interface ConfigurationKind<T> {
  readonly kind: string;
  /** Others than the usual ones. */
  readonly groups?: readonly string[];
  /** Without their group, newest first. */
  readonly versions: readonly string[];
  readonly fields: readonly string[];
  readonly read: (fields: Readonly<Record<string, Written>>) => T;
}

/** Reads YAML or JSON strictly. Throws a ConfigurationError that holds all there is to say. */
export function loadConfiguration<T>(kind: ConfigurationKind<T>, text: string): T {
  const { configuration, faults } = readConfiguration(kind, text);
  requireNoFaults(faults);
  return configuration;
}

/**
 * The same for a file that names other files: faults of those can be added before `requireNoFaults` reports all of them.
 * Throws a ConfigurationError for a text in which nothing can be found.
 */
export function readConfiguration<T>(
  kind: ConfigurationKind<T>,
  text: string,
): { readonly configuration: T; readonly faults: readonly string[] } {
  const { value, faults } = parseText(text);
  const root = new Written(value, '', faults);
  if (root.absent) throw new ConfigurationError(faults.length > 0 ? faults : ['the file is empty']);
  return { configuration: readEmbedded(kind, root), faults };
}

/** Reads a configuration that is a part of another one. */
export function readEmbedded<T>(
  { kind, groups = usualGroups, versions, fields, read }: ConfigurationKind<T>,
  written: Written,
): T {
  const found = written.fields(['apiVersion', 'kind', ...fields]);
  const known = groups.flatMap((group) => versions.map((version) => (group ? `${group}/${version}` : version)));
  require(found.kind as Written, [kind]);
  require(found.apiVersion as Written, known);
  return read(found);
}

/** Throws a ConfigurationError. A field that says two things is read twice, and what is wrong with it is said once. */
export function requireNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new ConfigurationError([...new Set(faults)]);
}

/** A key may be a secret that misses the blank behind its colon, so only its place is named. */
const duplicateKey = ({ line }: TextFault): string =>
  line === undefined ? 'a key is set twice' : `line ${line}: the key is already set in this map`;

function require(written: Written, allowed: readonly string[]): void {
  const found = written.text();
  if (written.absent || (found !== undefined && !allowed.includes(found)))
    written.wrong(`expected ${allowed.join(' or ')}`);
}

/** Read at start and at reloads, and by operators: far beyond any file, and still a fraction of a second. */
const configurationBytesMax = 512 * 1024;

/** Throws a ConfigurationError for a text in which nothing can be found. */
export function parseText(text: string): { readonly value: unknown; readonly faults: string[] } {
  const { value, faults: ofText, hasMoreDocuments } = parsed(text);
  const faults = ofText.map(duplicateKey);
  if (hasMoreDocuments) faults.push('the file holds more than one document: remove all but one');
  return { value, faults };
}

function parsed(text: string): Parsed {
  try {
    return parseYaml(text, configurationBytesMax);
  } catch (error) {
    if (error instanceof YamlTooLargeError) throw new ConfigurationError([error.message]);
    if (!(error instanceof MalformedTextError)) throw error;
    // Its message shows a piece of the text, which may be a secret: only the place is told.
    const place = / at (line \d+, column \d+)/.exec(error.message)?.[1];
    throw new ConfigurationError([`the file is not valid YAML${place ? ` at ${place}` : ''}`]);
  }
}
