import { abacPolicyKind } from './abac-policies.ts';
import { admissionKind } from './admission-configuration.ts';
import { eventRateLimitKind } from './admission/event-rate-limit.ts';
import { mutatingPolicyKind, validatingPolicyKind, webhookAdmissionKind } from './admission/static-manifests.ts';
import { auditPolicyKind } from './audit-policy.ts';
import { authenticationKind } from './authentication-configuration.ts';
import { authorizationKind } from './authorization-configuration.ts';
import { egressSelectorKind } from './egress-selector-configuration.ts';
import { encryptionKind } from './encryption-configuration.ts';
import { kubeconfigKind } from './kubeconfig.ts';
import type { ConfigurationKind } from './load.ts';
import { tracingKind } from './tracing-configuration.ts';

/** All kinds of configuration files. `config schema` and docs/configuration.md list exactly these. */
export const configurationKinds: readonly ConfigurationKind[] = [
  authenticationKind,
  egressSelectorKind,
  authorizationKind,
  abacPolicyKind,
  admissionKind,
  eventRateLimitKind,
  mutatingPolicyKind,
  validatingPolicyKind,
  webhookAdmissionKind,
  encryptionKind,
  auditPolicyKind,
  tracingKind,
  kubeconfigKind,
];

/** The kind by the apiVersion and kind of a file. */
export const kindOf = (apiVersion: unknown, kind: unknown): ConfigurationKind | undefined =>
  configurationKinds.find((one) => one.kind === kind && groupsOf(one).includes(groupOf(String(apiVersion))));

/** Finds a kind by `Kind`, or by `Kind.group` if the kind alone is ambiguous. */
export const kindNamed = (name: string): ConfigurationKind | undefined =>
  configurationKinds.find((one) => nameOf(one) === name) ??
  configurationKinds.find((one) => groupsOf(one).some((group) => name === `${one.kind}.${group}`));

export const nameOf = (one: ConfigurationKind): string =>
  isShared(one.kind) ? `${one.kind}.${groupsOf(one)[0]}` : one.kind;

/** Whether the name is ambiguous without its group. */
const isShared = (kind: string): boolean => ['Policy', 'Configuration'].includes(kind);

const groupsOf = ({ apiVersions }: ConfigurationKind): readonly string[] => [...new Set(apiVersions.map(groupOf))];
const groupOf = (apiVersion: string): string => apiVersion.split('/').slice(0, -1).join('/');
