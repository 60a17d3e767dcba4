import path from 'node:path';
import { eventRateLimitKind } from './admission/event-rate-limit.ts';
import { staticManifestsKind, webhookAdmissionKind } from './admission/static-manifests.ts';
import {
  ConfigurationError,
  type ConfigurationKind,
  loadConfiguration,
  readConfiguration,
  readEmbedded,
  requireNoFaults,
} from './load.ts';
import type { ReadFile } from './webhook-connection.ts';
import type { Written } from './written.ts';

/** The plugins that can be configured. */
const kinds = {
  EventRateLimit: eventRateLimitKind,
  MutatingAdmissionPolicy: staticManifestsKind('MutatingAdmissionPolicyConfiguration'),
  MutatingAdmissionWebhook: webhookAdmissionKind,
  ValidatingAdmissionPolicy: staticManifestsKind('ValidatingAdmissionPolicyConfiguration'),
  ValidatingAdmissionWebhook: webhookAdmissionKind,
} as const;

/** The configurations of admission plugins, by their names. */
export type AdmissionConfiguration = {
  readonly [Name in keyof typeof kinds]?: ReturnType<(typeof kinds)[Name]['read']>;
};

export interface AdmissionFiles {
  /** The path of the configuration, which the paths in it are relative to. */
  readonly file: string;
  readonly readFile: ReadFile;
  /** Why a plugin of that name cannot be configured; undefined if there is one. */
  readonly problemOfName: (name: string) => string | undefined;
}

/** Throws a ConfigurationError with everything that is wrong, also with the files that it names. */
export async function loadAdmissionConfiguration(text: string, files: AdmissionFiles): Promise<AdmissionConfiguration> {
  const { configuration, faults } = readConfiguration(
    {
      kind: 'AdmissionConfiguration',
      versions: ['v1'],
      fields: ['plugins'],
      read: ({ plugins }) => readPlugins(plugins as Written, files),
    },
    text,
  );
  const loaded = await Promise.all(configuration.map((load) => load()));
  requireNoFaults(faults);
  return Object.fromEntries(loaded.flatMap((one) => (one ? [one] : [])));
}

/** Reads the file of a plugin; undefined for a plugin without a configuration, or with a faulty one. */
type LoadPlugin = () => Promise<readonly [name: string, configuration: unknown] | undefined>;

function readPlugins(written: Written, files: AdmissionFiles): readonly LoadPlugin[] {
  const taken = new Set<string>();
  return written.items().map((item) => {
    const fields = item.fields(['name', 'path', 'configuration']);
    const name = readName(fields.name, taken, files);
    const file = fields.path.text();
    const place = fields.configuration.absent ? fields.path : fields.configuration;
    const kind = kindOf(name);
    if (name === undefined || place.absent) return async () => undefined;
    if (!kind) {
      place.wrong(`Forbidden: ${name} has no configuration`);
      return async () => undefined;
    }
    if (!fields.configuration.absent) {
      const configuration = readEmbedded<unknown>(kind, fields.configuration);
      return async () => [name, configuration];
    }
    if (!file) return async () => undefined;
    return async () => {
      const configuration = await readFrom(file, kind, fields.path, files);
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

const kindOf = (name: string | undefined): ConfigurationKind<unknown> | undefined =>
  name !== undefined && Object.hasOwn(kinds, name) ? kinds[name as keyof typeof kinds] : undefined;

/** Undefined, with faults, if it cannot be used. */
async function readFrom(
  name: string,
  kind: ConfigurationKind<unknown>,
  place: Written,
  { file, readFile }: AdmissionFiles,
): Promise<unknown> {
  try {
    const content = await readFile(path.isAbsolute(name) ? name : path.join(path.dirname(file), name));
    return loadConfiguration(kind, content.toString());
  } catch (error) {
    const faults = error instanceof ConfigurationError ? error.faults : [`cannot read it: ${(error as Error).message}`];
    for (const fault of faults) place.invalid(name, fault);
    return undefined;
  }
}
