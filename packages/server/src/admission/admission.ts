import { type AdmissionConfiguration, ConfigurationError, loadAdmissionConfiguration } from '@cluster-apiserver/config';
import {
  type Admission,
  type AdmissionPlugin,
  type AdmissionPluginName,
  alwaysDenyWrites,
  chooseAdmissionPlugins,
  deprecatedAdmissionPlugins,
  createEventRateLimit,
  createMeasuredAdmission,
  createNamespaceAutoProvision,
  createNamespaceExists,
  createNamespaceLifecycle,
  createOwnerReferencesPermissionEnforcement,
  describeUnknownPlugin,
} from '@cluster-apiserver/gates';
import { createPolicyEnvironment, reservedNames } from '@cluster-apiserver/policies';
import { openAdmissionWebhook, openWebhookCalls } from './admission-webhooks.ts';
import type { AdmissionDependencies, ConfiguredAdmission } from './configured-admission.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { createAdmissionMeasures } from './admission-measures.ts';
import { withFlagErrors, readFlagFile } from '../files/flag-files.ts';
import { createMatchConditionMeasures } from './match-condition-measures.ts';
import { openPolicies } from './policies.ts';
import { createReloadMeasures } from '../files/reload-measures.ts';

/** A factory returns undefined if the plugin would have nothing to check. */
const plugins: Readonly<
  Record<
    AdmissionPluginName,
    (configured: ConfiguredAdmission) => AdmissionPlugin | undefined | Promise<AdmissionPlugin | undefined>
  >
> = {
  AlwaysAdmit: () => undefined,
  NamespaceAutoProvision: ({ namespaces }) => namespaces && createNamespaceAutoProvision(namespaces),
  NamespaceLifecycle: ({ namespaces }) => namespaces && createNamespaceLifecycle(namespaces),
  NamespaceExists: ({ namespaces }) => namespaces && createNamespaceExists(namespaces),
  EventRateLimit: ({ configuration, clock }) => createEventRateLimit(configuration.EventRateLimit?.limits ?? [], clock),
  OwnerReferencesPermissionEnforcement: ({ authorizer, api }) =>
    createOwnerReferencesPermissionEnforcement({
      authorizer,
      resourceOf: (apiVersion, kind) => api.current.byKind(apiVersion, kind)?.served,
    }),
  MutatingAdmissionPolicy: (dependencies) => openPolicies('MutatingAdmissionPolicy', dependencies),
  MutatingAdmissionWebhook: (dependencies) => openAdmissionWebhook('MutatingAdmissionWebhook', dependencies),
  ValidatingAdmissionPolicy: (dependencies) => openPolicies('ValidatingAdmissionPolicy', dependencies),
  ValidatingAdmissionWebhook: (dependencies) => openAdmissionWebhook('ValidatingAdmissionWebhook', dependencies),
  AlwaysDeny: () => alwaysDenyWrites,
};

const flag = 'admission-control-config-file';

/** The plugins that the flags enable, configured by the file of --admission-control-config-file. */
export async function openAdmission(flags: ServerFlags, dependencies: AdmissionDependencies): Promise<Admission> {
  const { always, clock, files, metrics, log } = dependencies;
  const { plugins: chosen, configuration } = await loadAdmission(flags, files);
  for (const plugin of chosen)
    if (deprecatedAdmissionPlugins.has(plugin))
      log
        .withName('admission')
        .warn('admission plugin is deprecated; remove it from --enable-admission-plugins', { plugin });
  const manifestMeasures = createReloadMeasures({
    ...dependencies,
    prefix: 'apiserver_manifest_admission_config_controller',
    what: 'static admission manifests',
    labels: ['plugin'],
  });
  const environment = createPolicyEnvironment(dependencies);
  const conditionMeasures = createMatchConditionMeasures(metrics);
  const webhookCalls = openWebhookCalls(flags, dependencies, conditionMeasures);
  const configured = {
    ...dependencies,
    configuration,
    manifestMeasures,
    conditionMeasures,
    environment,
    webhookCalls,
  };
  const opened = await withFlagErrors(flag, () => openAll(chosen.map(async (name) => plugins[name](configured))));
  const all = [...always, reservedNames, ...opened.filter((plugin) => plugin !== undefined)];
  return createMeasuredAdmission(all, clock, createAdmissionMeasures(metrics));
}

/** Throws a ConfigurationError with the problems of all plugins. */
async function openAll<T>(opening: readonly Promise<T>[]): Promise<readonly T[]> {
  const faults: string[] = [];
  for (const outcome of await Promise.allSettled(opening)) {
    if (outcome.status === 'fulfilled') continue;
    if (!(outcome.reason instanceof ConfigurationError)) throw outcome.reason;
    faults.push(...outcome.reason.faults);
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Promise.all(opening);
}

/** The plugins that are enabled, and their configurations. */
export async function loadAdmission(
  flags: ServerFlags,
  files: Files,
): Promise<{ readonly plugins: readonly AdmissionPluginName[]; readonly configuration: AdmissionConfiguration }> {
  const chosen = chooseAdmissionPlugins(flags['enable-admission-plugins'], flags['disable-admission-plugins']);
  if (chosen.faults.length > 0) throw new FlagError(chosen.faults);
  const configuration = await loadConfigurations(flags, files);
  if (chosen.plugins.includes('EventRateLimit') && !configuration.EventRateLimit)
    throw new FlagError([`--enable-admission-plugins: EventRateLimit needs its limits in the file of --${flag}`]);
  return { plugins: chosen.plugins, configuration };
}

async function loadConfigurations(flags: ServerFlags, files: Files): Promise<AdmissionConfiguration> {
  const content = await readFlagFile(flag, flags, files);
  if (!content) return {};
  return withFlagErrors(flag, () =>
    loadAdmissionConfiguration(content.toString(), {
      file: flags[flag],
      readFile: files.read,
      problemOfName: describeUnknownPlugin,
    }),
  );
}
