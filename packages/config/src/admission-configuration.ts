import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import type { Path, Problems } from '@cluster-apiserver/model';
import { any, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import {
  type EventRateLimitConfiguration,
  eventRateLimitKind,
  readEventRateLimit,
} from './admission/event-rate-limit.ts';
import {
  mutatingPolicyKind,
  readStaticManifests,
  type StaticManifestsConfiguration,
  validatingPolicyKind,
  webhookAdmissionKind,
} from './admission/static-manifests.ts';
import { ConfigurationError, Findings } from './findings.ts';
import {
  type ConfigurationKind,
  defineConfigurationKind,
  parseContent,
  type ReadConfiguration,
  readConfiguration,
  readEmbedded,
} from './load.ts';
import { list, optional, required } from './schema.ts';
import type { ReadFile } from './webhook-connection.ts';

/** The configurations of admission plugins, by their names. */
export interface AdmissionConfiguration {
  readonly EventRateLimit?: EventRateLimitConfiguration;
  readonly MutatingAdmissionPolicy?: StaticManifestsConfiguration;
  readonly MutatingAdmissionWebhook?: StaticManifestsConfiguration;
  readonly ValidatingAdmissionPolicy?: StaticManifestsConfiguration;
  readonly ValidatingAdmissionWebhook?: StaticManifestsConfiguration;
}

/** Reads the configuration of a plugin at a path of a file. Adds problems to `findings` instead of throwing. */
type ReadPlugin = (value: unknown, path: Path, findings: Findings) => unknown;

const reader =
  <Value>(kind: ConfigurationKind<Value>, read: ReadConfiguration<Value, unknown>): ReadPlugin =>
  (value, place, findings) =>
    readEmbedded(kind, read, value, place, findings);

/** The plugins that can be configured. */
const configurable: Readonly<Record<keyof AdmissionConfiguration, ReadPlugin>> = {
  EventRateLimit: reader(eventRateLimitKind, readEventRateLimit),
  MutatingAdmissionPolicy: reader(mutatingPolicyKind, readStaticManifests),
  MutatingAdmissionWebhook: reader(webhookAdmissionKind, readStaticManifests),
  ValidatingAdmissionPolicy: reader(validatingPolicyKind, readStaticManifests),
  ValidatingAdmissionWebhook: reader(webhookAdmissionKind, readStaticManifests),
};

/** Reads the configuration of a plugin from its own file. Adds problems to `findings` instead of throwing. */
export const readPluginConfiguration = (
  plugin: keyof AdmissionConfiguration,
  text: string,
  findings: Findings,
): AdmissionConfiguration => ({ [plugin]: configurable[plugin](parseContent(text, findings), [], findings) });

const pluginSchema = object({
  name: required(string, 'Name of the plugin.'),
  path: optional(
    string,
    'File with its configuration, absolute or relative to this file. `configuration` wins over it.',
  ),
  configuration: optional(any, 'Its configuration.'),
});

export const admissionKind = defineConfigurationKind({
  kind: 'AdmissionConfiguration',
  versions: ['v1'],
  description: 'Configurations of admission plugins.',
  fields: { plugins: optional(list(pluginSchema), 'Plugins that are configured, each once.') },
});

export interface AdmissionFiles {
  /** Path of the AdmissionConfiguration; paths in it are relative to its directory. */
  readonly file: string;
  readonly readFile: ReadFile;
  /** Why no plugin of that name can be configured; undefined if one can. */
  readonly problemOfName: (name: string) => string | undefined;
}

/** Throws a ConfigurationError with all problems, including those of referenced files. */
export async function loadAdmissionConfiguration(text: string, files: AdmissionFiles): Promise<AdmissionConfiguration> {
  const findings = new Findings(text);
  const configuration = await readAdmissionConfiguration(text, files, findings);
  findings.requireNoProblems();
  return configuration;
}

/** Adds problems to `findings` instead of throwing. Returns the configurations of the plugins without problems. */
export async function readAdmissionConfiguration(
  text: string,
  files: AdmissionFiles,
  findings: Findings,
): Promise<AdmissionConfiguration> {
  const read = readConfiguration(
    admissionKind,
    ({ plugins = [] }, at) => {
      const taken = new Set<string>();
      return plugins.map((plugin, index) => readPlugin(plugin, at.at('plugins', index), taken, files, findings));
    },
    text,
    findings,
  );
  const loaded = await Promise.all(read);
  return Object.fromEntries(loaded.flatMap((one) => (one ? [one] : [])));
}

/** Undefined for a plugin without a configuration, or with a faulty one. */
async function readPlugin(
  { name, path: file, configuration }: ValueOf<typeof pluginSchema>,
  at: Problems,
  taken: Set<string>,
  files: AdmissionFiles,
  findings: Findings,
): Promise<readonly [name: string, configuration: unknown] | undefined> {
  if (taken.has(name)) at.at('name').duplicate(name);
  taken.add(name);
  const problem = files.problemOfName(name);
  if (problem !== undefined) {
    at.at('name').report(`Unsupported value: ${JSON.stringify(name)}: ${problem}`);
    return undefined;
  }
  const field = configuration === undefined ? 'path' : 'configuration';
  const read = configurableByName.get(name);
  if (!read) {
    if (configuration !== undefined || file !== undefined) at.at(field).forbidden(`${name} has no configuration`);
    return undefined;
  }
  const place = at.at(field).path;
  if (configuration !== undefined) return [name, read(configuration, place, findings)];
  return file ? [name, await readPluginFile(file, place, read, files, findings)] : undefined;
}

const configurableByName: ReadonlyMap<string, ReadPlugin> = new Map(Object.entries(configurable));

/** Reads the file of a plugin. Returns undefined and adds problems if it cannot be used. */
async function readPluginFile(
  name: string,
  place: Path,
  read: ReadPlugin,
  { file: referring, readFile }: AdmissionFiles,
  findings: Findings,
): Promise<unknown> {
  const file = path.isAbsolute(name) ? name : path.join(path.dirname(referring), name);
  try {
    const text = (await readFile(file)).toString();
    const inner = new Findings(text, { file });
    const configuration = read(parseContent(text, inner), [], inner);
    findings.includeFile(place, name, inner);
    return configuration;
  } catch (error) {
    if (error instanceof ConfigurationError) findings.includeFile(place, name, error);
    else findings.at(place).invalid(name, `cannot read it: ${errorMessage(error)}`);
    return undefined;
  }
}
