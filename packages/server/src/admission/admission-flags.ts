import { describeAdmissionPlugins } from '@cluster-apiserver/gates';
import { list, pairs, path } from '../flags/flag.ts';

/** Flags of admission. */
export const admissionFlags = {
  'admission-control-config-file': path('File with the AdmissionConfiguration, which configures admission plugins.'),
  'enable-admission-plugins': list(
    `Admission plugins to enable in addition to the default ones: ${describeAdmissionPlugins()}. The order does not matter.`,
  ),
  'disable-admission-plugins': list('Admission plugins to disable that are enabled by default.'),
  'admission-webhook-services': pairs(
    'Addresses of services that webhook configurations refer to, each as namespace/name=host:port. Without a port, that of the reference is used. Webhooks of other services fail.',
  ),
  'system-namespaces': list('Namespaces to create at startup if they do not exist.', 'default,kube-system,kube-public'),
};
