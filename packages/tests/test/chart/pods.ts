/** The parts of pods that the tests read. */
import type { Manifest } from './helm.ts';

export interface PodTemplate {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly securityContext?: unknown;
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
}

export interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme?: string };
}

interface Volume {
  readonly name: string;
  readonly projected?: { readonly sources: readonly VolumeSource[] };
}

export interface VolumeSource {
  readonly secret?: VolumeProjection;
  readonly configMap?: VolumeProjection;
}

interface VolumeProjection {
  readonly name: string;
  readonly items?: readonly { readonly key: string; readonly path: string }[];
}

/** The pod template of a workload; undefined for other manifests. The Kubernetes schemas guarantee the form. */
export function podTemplateOf(manifest: Manifest): PodTemplate | undefined {
  if (manifest.kind === 'Pod') return manifest as unknown as PodTemplate;
  if (!['Deployment', 'StatefulSet', 'Job'].includes(manifest.kind)) return undefined;
  return (manifest.spec as { readonly template: PodTemplate }).template;
}

export function containerOf(manifest: Manifest, name: string): Container {
  const found = podTemplateOf(manifest)?.spec.containers.find((container) => container.name === name);
  if (!found) throw new Error(`${manifest.kind} ${manifest.metadata.name} has no container ${name}`);
  return found;
}
