import type { CleanupStack } from '@cluster-apiserver/base';
import { type AdmissionConfiguration, ConfigurationError, loadAdmissionConfiguration } from '@cluster-apiserver/config';
import {
  type Admission,
  type AdmissionPlugin,
  type AdmissionPluginName,
  alwaysDenyWrites,
  certificateSubjectRestriction,
  type Authorizer,
  deprecatedAdmissionPlugins,
  createCertificateApproval,
  createCertificateSigning,
  createEventRateLimit,
  createMeasuredAdmission,
  createNamespaceAutoProvision,
  createNamespaceExists,
  createNamespaceLifecycle,
  createOwnerReferencesPermissionEnforcement,
  describeUnknownPlugin,
  type Namespaces,
} from '@cluster-apiserver/gates';
import {
  createClusterState,
  createConditionMeasures,
  createDefinitionLifecycle,
  createResourceQuota,
  reservedNames,
} from '@cluster-apiserver/policies';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { ServerContext } from '../configuration/context.ts';
import { openWebhookPlugin, openWebhookCalls } from './webhook-plugins.ts';
import { FlagError } from '../flags/flag.ts';
import type { AdmissionSettings } from './admission-settings.ts';
import { type FlagFile, withFlagErrors } from '../files/flag-files.ts';
import { createStartupReader, type FlagFileReader } from '../files/startup-files.ts';
import { openPolicyPlugin } from './policy-plugins.ts';
import { createManifestOpener } from './static-manifests.ts';

const flag = 'admission-control-config-file';

export interface AdmissionDependencies {
  readonly api: LiveApi;
  /** Undefined if the server does not serve namespaces. */
  readonly namespaces: Namespaces | undefined;
  readonly authorizer: Required<Authorizer>;
  /** Plugins that flags cannot disable; they run before the enabled ones. */
  readonly always: readonly AdmissionPlugin[];
}

/** The plugins that the flags enable, configured by the file of --admission-control-config-file. */
export async function openAdmission(
  settings: AdmissionSettings,
  { api, namespaces, authorizer, always }: AdmissionDependencies,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Admission> {
  const { environment, metrics, log } = context;
  const { clock, random } = environment;
  const configuration = await loadAdmission(settings, createStartupReader(context));
  for (const plugin of settings.plugins)
    if (deprecatedAdmissionPlugins.has(plugin))
      log.withName('admission').warn(
        // Meaning: The plugin works, and a later version of Kubernetes will refuse to start with it.
        'admission plugin is deprecated; remove it from --enable-admission-plugins',
        'replace it as its documentation says: docs/admission.md',
        { plugin },
      );
  const conditionMeasures = createConditionMeasures(metrics);
  const openManifests = createManifestOpener(configuration, context, cleanup);
  const clusterState = createClusterState({ api, authorizer });
  const policies = { api, clusterState, openManifests, conditionMeasures, metrics, clock, log };
  const webhookCalls = openWebhookCalls(settings.webhookServices, { metrics, log, clock, conditionMeasures }, cleanup);
  const webhooks = { api, clusterState, openManifests, webhookCalls, clock, random, log };
  /** Undefined if the plugin would have nothing to check. */
  const plugins: Readonly<Record<AdmissionPluginName, () => Opened | Promise<Opened>>> = {
    AlwaysAdmit: () => undefined,
    NamespaceAutoProvision: () => namespaces && createNamespaceAutoProvision(namespaces),
    ResourceQuota: () => createResourceQuota(api),
    NamespaceLifecycle: () => namespaces && createNamespaceLifecycle(namespaces),
    NamespaceExists: () => namespaces && createNamespaceExists(namespaces),
    EventRateLimit: () => createEventRateLimit(configuration.EventRateLimit?.limits ?? [], clock),
    OwnerReferencesPermissionEnforcement: () =>
      createOwnerReferencesPermissionEnforcement({
        authorizer,
        resourceOf: (apiVersion, kind) => api.byKind(apiVersion, kind)?.served,
      }),
    CertificateApproval: () => createCertificateApproval(authorizer),
    CertificateSigning: () => createCertificateSigning(authorizer),
    CertificateSubjectRestriction: () => certificateSubjectRestriction,
    MutatingAdmissionPolicy: () => openPolicyPlugin('MutatingAdmissionPolicy', policies, cleanup),
    MutatingAdmissionWebhook: () => openWebhookPlugin('MutatingAdmissionWebhook', webhooks, cleanup),
    ValidatingAdmissionPolicy: () => openPolicyPlugin('ValidatingAdmissionPolicy', policies, cleanup),
    ValidatingAdmissionWebhook: () => openWebhookPlugin('ValidatingAdmissionWebhook', webhooks, cleanup),
    AlwaysDeny: () => alwaysDenyWrites,
  };
  const opened = await withFlagErrors(flag, () => openAll(settings.plugins.map(async (name) => plugins[name]())));
  const all = [
    ...always,
    reservedNames,
    createDefinitionLifecycle(api),
    ...opened.filter((plugin) => plugin !== undefined),
  ];
  return createMeasuredAdmission(all, clock, metrics);
}

type Opened = AdmissionPlugin | undefined;

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

/** The configurations of the plugins. */
export async function loadAdmission(
  { file, plugins }: AdmissionSettings,
  { read, files }: FlagFileReader,
): Promise<AdmissionConfiguration> {
  const configuration = file ? await loadConfiguration(file, { read, files }) : {};
  if (plugins.includes('EventRateLimit') && !configuration.EventRateLimit)
    throw new FlagError([`--enable-admission-plugins: EventRateLimit needs its limits in the file of --${flag}`]);
  return configuration;
}

async function loadConfiguration(file: FlagFile, { read, files }: FlagFileReader): Promise<AdmissionConfiguration> {
  const content = await read(file, { kind: 'AdmissionConfiguration' });
  return withFlagErrors(flag, () =>
    loadAdmissionConfiguration(content.toString(), {
      file: file.path,
      readFile: files.read,
      problemOfName: describeUnknownPlugin,
    }),
  );
}
