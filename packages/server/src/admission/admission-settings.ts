import { chooseAdmissionPlugins } from '@cluster-apiserver/gates';
import { labelNames } from '@cluster-apiserver/model/validation';
import { fileOf } from '../files/flag-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { admissionFlags } from './admission-flags.ts';

export type AdmissionSettings = ReturnType<typeof admissionSettingsOf>;

export function admissionSettingsOf(values: FlagValues<typeof admissionFlags>, problems: string[]) {
  const { plugins, faults } = chooseAdmissionPlugins(
    values['enable-admission-plugins'],
    values['disable-admission-plugins'],
  );
  problems.push(...faults);
  const systemNamespaces = values['system-namespaces'];
  for (const name of systemNamespaces)
    for (const problem of labelNames.whole(name))
      problems.push(`--system-namespaces: ${JSON.stringify(name)} is no name of a namespace: ${problem}`);
  // By `namespace/name`.
  const webhookServices = values['admission-webhook-services'];
  for (const [service, address] of webhookServices) {
    if (!/^[^/]+\/[^/]+$/.test(service))
      problems.push(`--admission-webhook-services: ${JSON.stringify(service)} is not namespace/name`);
    if (!isAddress(address))
      problems.push(`--admission-webhook-services: ${JSON.stringify(address)} is not host or host:port`);
  }
  return { file: fileOf(values, 'admission-control-config-file'), plugins, webhookServices, systemNamespaces };
}

const isAddress = (address: string): boolean => /^[^/?#@\s]+$/.test(address) && URL.canParse(`https://${address}`);
