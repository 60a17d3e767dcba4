import type { Clock, Random, Scope } from '@cluster-apiserver/base';
import {
  type Admission,
  type AdmissionPlugin,
  type AdmissionPluginName,
  type Authorizer,
  admission,
  chooseAdmissionPlugins,
  namespaceAutoProvision,
  namespaceLifecycle,
  type Namespaces,
} from '@cluster-apiserver/gates';
import type { Resource } from '@cluster-apiserver/registry';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { type AdmissionWebhooks, openAdmissionWebhooks } from './admission-webhooks.ts';
import { openPolicies, surroundingsOf } from './policies.ts';
import { FlagError, type ServerFlags } from '../flags.ts';

/** What a plugin can be made of. */
export interface AdmissionDependencies {
  /** Undefined for a server that serves no namespaces. */
  readonly namespaces: Namespaces | undefined;
  /** The collections of all kinds, in memory. */
  readonly resources: readonly Resource[];
  /** The same, as other groups and versions see them. */
  readonly views: readonly Resource[];
  readonly authorizer: Required<Authorizer>;
  /** What no flag switches off, asked before the chosen plugins. */
  readonly always: readonly AdmissionPlugin[];
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
}

interface PluginDependencies extends AdmissionDependencies {
  readonly webhooks: AdmissionWebhooks;
}

/** A factory answers undefined where the plugin would have nothing to check. */
const plugins: Readonly<
  Record<AdmissionPluginName, (dependencies: PluginDependencies) => AdmissionPlugin | undefined>
> = {
  NamespaceLifecycle: ({ namespaces }) => namespaces && namespaceLifecycle(namespaces),
  NamespaceAutoProvision: ({ namespaces }) => namespaces && namespaceAutoProvision(namespaces),
  MutatingAdmissionPolicy: (dependencies) => openPolicies('MutatingAdmissionPolicy', dependencies),
  MutatingAdmissionWebhook: ({ webhooks }) => webhooks.mutating(),
  ValidatingAdmissionPolicy: (dependencies) => openPolicies('ValidatingAdmissionPolicy', dependencies),
  ValidatingAdmissionWebhook: ({ webhooks }) => webhooks.validating(),
};

/** The plugins that the flags choose. */
export function openAdmission(flags: ServerFlags, dependencies: AdmissionDependencies, scope: Scope): Admission {
  const chosen = chooseAdmissionPlugins(flags['enable-admission-plugins'], flags['disable-admission-plugins']);
  if (chosen.faults.length > 0) throw new FlagError(chosen.faults);
  const surroundings = surroundingsOf(dependencies);
  const webhooks = openAdmissionWebhooks(flags, { ...dependencies, surroundings }, scope);
  const given = { ...dependencies, webhooks };
  return admission([...dependencies.always, ...chosen.plugins.flatMap((name) => plugins[name](given) ?? [])]);
}
