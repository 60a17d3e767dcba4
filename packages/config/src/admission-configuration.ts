import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import {
  type EventRateLimitConfiguration,
  eventRateLimitKind,
  readEventRateLimit,
} from './admission/event-rate-limit.ts';
import {
  readStaticManifests,
  readWebhookAdmission,
  type StaticManifestsConfiguration,
  staticManifestsKind,
  webhookAdmissionKind,
} from './admission/static-manifests.ts';
import { ConfigurationError, Findings } from './findings.ts';
import { declareKind, type DeclaredKind, type ReadFields, readConfiguration, readEmbedded } from './load.ts';
import { anything, type Fields, list, object, string } from './schema.ts';
import type { ReadFile } from './webhook-connection.ts';
import type { ConfigNode } from './config-node.ts';

export const mutatingPolicyKind = staticManifestsKind('MutatingAdmissionPolicyConfiguration');
export const validatingPolicyKind = staticManifestsKind('ValidatingAdmissionPolicyConfiguration');

/** The configurations of admission plugins, by their names. */
export interface AdmissionConfiguration {
  readonly EventRateLimit?: EventRateLimitConfiguration;
  readonly MutatingAdmissionPolicy?: StaticManifestsConfiguration;
  readonly MutatingAdmissionWebhook?: StaticManifestsConfiguration;
  readonly ValidatingAdmissionPolicy?: StaticManifestsConfiguration;
  readonly ValidatingAdmissionWebhook?: StaticManifestsConfiguration;
}

/** Reads the configuration of a plugin: from its own file, or embedded in the AdmissionConfiguration. */
interface PluginConfiguration {
  /** Adds problems to `findings` instead of throwing. */
  read(text: string, findings: Findings): unknown;
  readEmbedded(node: ConfigNode): unknown;
}

const toPluginConfiguration = <Declared extends Fields>(
  kind: DeclaredKind<Declared>,
  read: ReadFields<Declared, unknown>,
): PluginConfiguration => ({
  read: (text, findings) => readConfiguration(kind, read, text, findings),
  readEmbedded: ({ value, path: place, findings }) => readEmbedded(kind, read, value, place, findings),
});

/** The plugins that can be configured. */
const configurable: Readonly<Record<keyof AdmissionConfiguration, PluginConfiguration>> = {
  EventRateLimit: toPluginConfiguration(eventRateLimitKind, readEventRateLimit),
  MutatingAdmissionPolicy: toPluginConfiguration(mutatingPolicyKind, readStaticManifests),
  MutatingAdmissionWebhook: toPluginConfiguration(webhookAdmissionKind, readWebhookAdmission),
  ValidatingAdmissionPolicy: toPluginConfiguration(validatingPolicyKind, readStaticManifests),
  ValidatingAdmissionWebhook: toPluginConfiguration(webhookAdmissionKind, readWebhookAdmission),
};

/** Reads the configuration of a plugin from its own file. Adds problems to `findings` instead of throwing. */
export const readPluginConfiguration = (
  plugin: keyof AdmissionConfiguration,
  text: string,
  findings: Findings,
): AdmissionConfiguration => ({ [plugin]: configurable[plugin].read(text, findings) });

const fields = {
  plugins: list(
    'Plugins that are configured, each once.',
    object(
      'One plugin.',
      {
        name: string('Name of the plugin.'),
        path: string('File with its configuration, absolute or relative to this file. `configuration` wins over it.'),
        configuration: anything('Its configuration.'),
      },
      { required: ['name'] },
    ),
  ),
};

export const admissionKind = declareKind({
  kind: 'AdmissionConfiguration',
  versions: ['v1'],
  description: 'Configurations of admission plugins.',
  fields,
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
  const configuration = readConfiguration(admissionKind, ({ plugins }) => readPlugins(plugins, files), text, findings);
  const loaded = await Promise.all(configuration.map((load) => load()));
  return Object.fromEntries(loaded.flatMap((one) => (one ? [one] : [])));
}

/** Reads the file of a plugin; undefined for a plugin without a configuration, or with a faulty one. */
type LoadPlugin = () => Promise<readonly [name: string, configuration: unknown] | undefined>;

function readPlugins(node: ConfigNode<typeof fields.plugins>, files: AdmissionFiles): readonly LoadPlugin[] {
  const taken = new Set<string>();
  return node.items().map((item) => {
    const declared = item.fields();
    const name = readName(declared.name, taken, files);
    const file = declared.path.string();
    const place = declared.configuration.isAbsent ? declared.path : declared.configuration;
    if (name === undefined || place.isAbsent) return async () => undefined;
    const plugin = configurableByName.get(name);
    if (!plugin) {
      place.addProblem(`Forbidden: ${name} has no configuration`);
      return async () => undefined;
    }
    if (!declared.configuration.isAbsent) {
      const configuration = plugin.readEmbedded(declared.configuration);
      return async () => [name, configuration];
    }
    if (!file) return async () => undefined;
    return async () => {
      const configuration = await readPluginFile(file, plugin, declared.path, files);
      return configuration === undefined ? undefined : [name, configuration];
    };
  });
}

function readName(node: ConfigNode, taken: Set<string>, { problemOfName }: AdmissionFiles): string | undefined {
  const name = node.string() ?? '';
  if (name === '') {
    node.addRequired();
    return undefined;
  }
  if (taken.has(name)) node.addProblem(`Duplicate value: ${JSON.stringify(name)}`);
  taken.add(name);
  const problem = problemOfName(name);
  if (problem === undefined) return name;
  node.addProblem(`Unsupported value: ${JSON.stringify(name)}: ${problem}`);
  return undefined;
}

const configurableByName: ReadonlyMap<string, PluginConfiguration> = new Map(Object.entries(configurable));

/** Reads the file of a plugin. Returns undefined and adds problems if it cannot be used. */
async function readPluginFile(
  name: string,
  plugin: PluginConfiguration,
  place: ConfigNode,
  { file, readFile }: AdmissionFiles,
): Promise<unknown> {
  const of = path.isAbsolute(name) ? name : path.join(path.dirname(file), name);
  try {
    const text = (await readFile(of)).toString();
    const findings = new Findings(text, { file: of });
    const configuration = plugin.read(text, findings);
    place.addInvalidFile(name, findings);
    return configuration;
  } catch (error) {
    if (error instanceof ConfigurationError) place.addInvalidFile(name, error);
    else place.addInvalid(name, `cannot read it: ${errorMessage(error)}`);
    return undefined;
  }
}
