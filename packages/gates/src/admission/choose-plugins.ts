import { getOwn, nearestName } from '@cluster-apiserver/base';

/** The default plugin, and the one that replaces it if one of `replacedFor` is enabled. */
const namespaces = {
  default: 'NamespaceAutoProvision',
  replacement: 'NamespaceLifecycle',
  replacedFor: ['NamespaceLifecycle', 'NamespaceExists'],
} as const;

/** The plugins that objects of the API configure. */
const dynamic = [
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
] as const;

/** The plugins that say who may ask for which certificate, and who may decide. */
const ofCertificates = ['CertificateApproval', 'CertificateSigning', 'CertificateSubjectRestriction'] as const;

/**
 * All plugins in the order in which they are called. It is that of kube-apiserver but for the plugin that creates namespaces:
 * an object that any other one rejects must not leave a namespace. That of quotas is the last one,
 * because it reserves what a later refusal would have to release.
 */
const admissionPlugins = [
  'AlwaysAdmit',
  'NamespaceLifecycle',
  'NamespaceExists',
  'EventRateLimit',
  'OwnerReferencesPermissionEnforcement',
  ...ofCertificates,
  ...dynamic,
  'AlwaysDeny',
  'NamespaceAutoProvision',
  'ResourceQuota',
] as const;
export type AdmissionPluginName = (typeof admissionPlugins)[number];

const onByDefault: readonly AdmissionPluginName[] = [...ofCertificates, ...dynamic, 'ResourceQuota'];

/** As in kube-apiserver, where they can still be enabled. */
export const deprecatedAdmissionPlugins: ReadonlySet<AdmissionPluginName> = new Set(['AlwaysAdmit', 'AlwaysDeny']);

/** Plugins of kube-apiserver for kinds that this server does not serve, with the plural of these kinds. */
const pluginsOfUnservedKinds: Readonly<Record<string, string>> = {
  AlwaysPullImages: 'pods',
  ClusterTrustBundleAttest: 'cluster trust bundles',
  DefaultIngressClass: 'ingresses',
  DefaultStorageClass: 'persistent volume claims',
  DefaultTolerationSeconds: 'pods',
  DenyServiceExternalIPs: 'services',
  ExtendedResourceToleration: 'pods',
  ImagePolicyWebhook: 'pods',
  JobValidation: 'jobs',
  LimitPodHardAntiAffinityTopology: 'pods',
  LimitRanger: 'pods',
  NodeDeclaredFeatureValidator: 'pods',
  NodeRestriction: 'nodes',
  PersistentVolumeClaimResize: 'persistent volume claims',
  PodGroupProtection: 'pod groups',
  PodGroupWorkloadExists: 'pod groups',
  PodNodeSelector: 'pods',
  PodResizeValidator: 'pods',
  PodSecurity: 'pods',
  PodTolerationRestriction: 'pods',
  PodTopologyLabels: 'pods',
  Priority: 'pods',
  RuntimeClass: 'pods',
  ServiceAccount: 'pods',
  StorageObjectInUseProtection: 'persistent volume claims',
  TaintNodesByCondition: 'nodes',
};

/** Plugins that kube-apiserver has removed, but that old command lines still name. */
const removed: ReadonlySet<string> = new Set([
  'DenyEscalatingExec',
  'DenyExecOnPrivileged',
  'Initializers',
  'PersistentVolumeLabel',
  'PodPreset',
  'PodSecurityPolicy',
  'SecurityContextDeny',
]);

/** For the help of the flags: the plugins that are on by default, and the others. */
export function describeAdmissionPlugins(): string {
  const { plugins: byDefault } = chooseAdmissionPlugins([], []);
  const [, alsoReplacedFor] = namespaces.replacedFor;
  const replaced = ` (replaced by ${namespaces.replacement} if that or ${alsoReplacedFor} is enabled)`;
  const named = byDefault.map((name) => `${name}${name === namespaces.default ? replaced : ''}`);
  const others = admissionPlugins.filter((name) => !byDefault.includes(name));
  return `${named.join(', ')}. There are also ${others.join(', ')}`;
}

/** Why there is no plugin of that name; undefined if there is one. */
export function describeUnknownPlugin(name: string): string | undefined {
  if (admissionPlugins.some((plugin) => plugin === name)) return undefined;
  const objects = getOwn(pluginsOfUnservedKinds, name);
  if (objects !== undefined) return `it is about ${objects}, which are not served`;
  if (removed.has(name)) return 'kube-apiserver has removed it, too';
  const near = nearestName(name, admissionPlugins);
  return near ? `did you mean ${near}?` : `there is ${admissionPlugins.join(', ')}`;
}

export interface ChosenPlugins {
  /** In the order in which they are called. */
  readonly plugins: readonly AdmissionPluginName[];
  readonly faults: readonly string[];
}

/** The enabled plugins: the defaults, and what the flags enable and disable. */
export function chooseAdmissionPlugins(enabled: readonly string[], disabled: readonly string[]): ChosenPlugins {
  const replacements = namespaces.replacedFor.filter((name) => enabled.includes(name));
  const faults = [
    ...findUnknownPlugins('enable-admission-plugins', enabled),
    ...findUnknownPlugins('disable-admission-plugins', disabled),
    ...enabled
      .filter((name) => disabled.includes(name))
      .map((name) => `--enable-admission-plugins: ${name} is in --disable-admission-plugins, too`),
    ...(enabled.includes(namespaces.default)
      ? replacements.map(
          (name) =>
            `--enable-admission-plugins: ${namespaces.default} makes the namespaces that ${name} asks for; choose one of them`,
        )
      : []),
  ];
  const ofNamespaces = replacements.length > 0 ? namespaces.replacement : namespaces.default;
  const isOn = (name: AdmissionPluginName): boolean =>
    enabled.includes(name) || name === ofNamespaces || onByDefault.includes(name);
  return { plugins: admissionPlugins.filter((name) => isOn(name) && !disabled.includes(name)), faults };
}

const findUnknownPlugins = (flag: string, names: readonly string[]): string[] =>
  names.flatMap((name) => {
    const problem = describeUnknownPlugin(name);
    return problem === undefined ? [] : [`--${flag}: there is no ${JSON.stringify(name)}: ${problem}`];
  });
