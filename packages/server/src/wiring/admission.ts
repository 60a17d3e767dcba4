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
import type { Log } from '@cluster-apiserver/telemetry';
import { openPolicies } from './policies.ts';
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
  readonly log: Log;
  /** What plugins follow ends with it. */
  readonly scope: Scope;
}

/** A factory answers undefined where the plugin would have nothing to check. */
const plugins: Readonly<
  Record<AdmissionPluginName, (dependencies: AdmissionDependencies) => AdmissionPlugin | undefined>
> = {
  NamespaceLifecycle: ({ namespaces }) => namespaces && namespaceLifecycle(namespaces),
  NamespaceAutoProvision: ({ namespaces }) => namespaces && namespaceAutoProvision(namespaces),
  MutatingAdmissionPolicy: (dependencies) => openPolicies('MutatingAdmissionPolicy', dependencies),
  ValidatingAdmissionPolicy: (dependencies) => openPolicies('ValidatingAdmissionPolicy', dependencies),
};

/** The plugins that the flags choose. */
export function openAdmission(flags: ServerFlags, dependencies: AdmissionDependencies): Admission {
  const chosen = chooseAdmissionPlugins(flags['enable-admission-plugins'], flags['disable-admission-plugins']);
  if (chosen.faults.length > 0) throw new FlagError(chosen.faults);
  return admission([...dependencies.always, ...chosen.plugins.flatMap((name) => plugins[name](dependencies) ?? [])]);
}
