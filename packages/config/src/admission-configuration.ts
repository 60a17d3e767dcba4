import path from 'node:path';
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
import {
  declareKind,
  type DeclaredKind,
  loadConfiguration,
  type Read,
  readConfiguration,
  readEmbedded,
} from './load.ts';
import { anything, type Fields, list, object, string } from './schema.ts';
import type { ReadFile } from './webhook-connection.ts';
import type { Written } from './written.ts';

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

/** How the configuration of a plugin is read: as a file of its own, or as a part of another one. */
interface PluginConfiguration {
  load(text: string, findings: Findings): unknown;
  embedded(written: Written): unknown;
}

const reading = <Declared extends Fields>(
  kind: DeclaredKind<Declared>,
  read: Read<Declared, unknown>,
): PluginConfiguration => ({
  load: (text, findings) => loadConfiguration(kind, read, text, findings),
  embedded: ({ value, path: place, findings }) => readEmbedded(kind, read, value, place, findings),
});

/** The plugins that can be configured. */
const configurable: Readonly<Record<keyof AdmissionConfiguration, PluginConfiguration>> = {
  EventRateLimit: reading(eventRateLimitKind, readEventRateLimit),
  MutatingAdmissionPolicy: reading(mutatingPolicyKind, readStaticManifests),
  MutatingAdmissionWebhook: reading(webhookAdmissionKind, readWebhookAdmission),
  ValidatingAdmissionPolicy: reading(validatingPolicyKind, readStaticManifests),
  ValidatingAdmissionWebhook: reading(webhookAdmissionKind, readWebhookAdmission),
};

/** Reads the configuration of a plugin from a file of its own. Throws a ConfigurationError with everything that is wrong. */
export const loadPluginConfiguration = (
  plugin: keyof AdmissionConfiguration,
  text: string,
  findings: Findings,
): AdmissionConfiguration => ({ [plugin]: configurable[plugin].load(text, findings) });

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
  /** The path of the configuration, which the paths in it are relative to. */
  readonly file: string;
  readonly readFile: ReadFile;
  /** Why a plugin of that name cannot be configured; undefined if there is one. */
  readonly problemOfName: (name: string) => string | undefined;
}

/** Throws a ConfigurationError with everything that is wrong, also with the files that it names. */
export async function loadAdmissionConfiguration(text: string, files: AdmissionFiles): Promise<AdmissionConfiguration> {
  const findings = new Findings(text);
  const configuration = await readAdmissionConfiguration(text, files, findings);
  findings.requireNoProblems();
  return configuration;
}

/** The same for whoever finds more: the configurations of the plugins that have no problems. */
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

function readPlugins(written: Written<typeof fields.plugins>, files: AdmissionFiles): readonly LoadPlugin[] {
  const taken = new Set<string>();
  return written.items().map((item) => {
    const declared = item.fields();
    const name = readName(declared.name, taken, files);
    const file = declared.path.text();
    const place = declared.configuration.absent ? declared.path : declared.configuration;
    const plugin = pluginOf(name);
    if (name === undefined || place.absent) return async () => undefined;
    if (!plugin) {
      place.wrong(`Forbidden: ${name} has no configuration`);
      return async () => undefined;
    }
    if (!declared.configuration.absent) {
      const configuration = plugin.embedded(declared.configuration);
      return async () => [name, configuration];
    }
    if (!file) return async () => undefined;
    return async () => {
      const configuration = await readFrom(file, plugin, declared.path, files);
      return configuration === undefined ? undefined : [name, configuration];
    };
  });
}

function readName(written: Written, taken: Set<string>, { problemOfName }: AdmissionFiles): string | undefined {
  const name = written.text() ?? '';
  if (name === '') {
    written.required();
    return undefined;
  }
  if (taken.has(name)) written.wrong(`Duplicate value: ${JSON.stringify(name)}`);
  taken.add(name);
  const problem = problemOfName(name);
  if (problem === undefined) return name;
  written.wrong(`Unsupported value: ${JSON.stringify(name)}: ${problem}`);
  return undefined;
}

const pluginOf = (name: string | undefined): PluginConfiguration | undefined =>
  name !== undefined && Object.hasOwn(configurable, name)
    ? configurable[name as keyof AdmissionConfiguration]
    : undefined;

/** Undefined, with faults, if it cannot be used. */
async function readFrom(
  name: string,
  plugin: PluginConfiguration,
  place: Written,
  { file, readFile }: AdmissionFiles,
): Promise<unknown> {
  const of = path.isAbsolute(name) ? name : path.join(path.dirname(file), name);
  try {
    const text = (await readFile(of)).toString();
    return plugin.load(text, new Findings(text, { file: of }));
  } catch (error) {
    if (error instanceof ConfigurationError) place.invalidFile(name, error);
    else place.invalid(name, `cannot read it: ${(error as Error).message}`);
    return undefined;
  }
}
