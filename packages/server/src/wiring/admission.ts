import {
  type Admission,
  type AdmissionPlugin,
  type AdmissionPluginName,
  admission,
  chooseAdmissionPlugins,
  namespaceAutoProvision,
  namespaceLifecycle,
  type Namespaces,
} from '@cluster-apiserver/gates';
import { FlagError, type ServerFlags } from '../flags.ts';

const plugins: Readonly<Record<AdmissionPluginName, (namespaces: Namespaces) => AdmissionPlugin>> = {
  NamespaceLifecycle: namespaceLifecycle,
  NamespaceAutoProvision: namespaceAutoProvision,
};

/** Who has a say in writes, as the flags choose; a server without namespaces has nobody to ask about them. */
export function openAdmission(flags: ServerFlags, namespaces: Namespaces | undefined): Admission {
  const chosen = chooseAdmissionPlugins(flags['enable-admission-plugins'], flags['disable-admission-plugins']);
  if (chosen.faults.length > 0) throw new FlagError(chosen.faults);
  return admission(namespaces ? chosen.plugins.map((name) => plugins[name](namespaces)) : []);
}
