import { nearestName } from '@cluster-apiserver/base';

/** By default, then what stands in the one's place if it is chosen. */
const namespaces = { default: 'NamespaceAutoProvision', instead: 'NamespaceLifecycle' } as const;

/** Those that let operators decide by objects of the API. */
const dynamic = [
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
] as const;

/** All plugins, in the order in which they are asked. */
const admissionPlugins = [namespaces.instead, namespaces.default, ...dynamic] as const;
export type AdmissionPluginName = (typeof admissionPlugins)[number];

const byDefault: readonly AdmissionPluginName[] = [namespaces.default, ...dynamic];

export interface Chosen {
  /** In their order, however they were written. */
  readonly plugins: readonly AdmissionPluginName[];
  readonly faults: readonly string[];
}

/** Which plugins an operator wants, out of what is switched on and off besides the defaults. */
export function chooseAdmissionPlugins(enabled: readonly string[], disabled: readonly string[]): Chosen {
  const faults = [
    ...unknown('enable-admission-plugins', enabled),
    ...unknown('disable-admission-plugins', disabled),
    ...enabled
      .filter((name) => disabled.includes(name))
      .map((name) => `--enable-admission-plugins: ${name} is in --disable-admission-plugins, too`),
    ...(enabled.includes(namespaces.default) && enabled.includes(namespaces.instead)
      ? [
          `--enable-admission-plugins: ${namespaces.default} makes the namespaces that ${namespaces.instead} asks for; choose one of them`,
        ]
      : []),
  ];
  const replaced = enabled.includes(namespaces.instead) ? namespaces.default : undefined;
  const wanted = (name: AdmissionPluginName): boolean =>
    enabled.includes(name) || (byDefault.includes(name) && name !== replaced);
  return { plugins: admissionPlugins.filter((name) => wanted(name) && !disabled.includes(name)), faults };
}

const unknown = (flag: string, names: readonly string[]): string[] =>
  names
    .filter((name) => !admissionPlugins.some((plugin) => plugin === name))
    .map((name) => {
      const near = nearestName(name, admissionPlugins);
      return `--${flag}: there is no ${JSON.stringify(name)}${near ? `; did you mean ${near}?` : `; there is ${admissionPlugins.join(', ')}`}`;
    });
