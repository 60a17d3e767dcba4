/**
 * Runs containers of rendered pods as local processes, with files, arguments and variables as a kubelet provides them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import type { Manifest } from './helm.ts';
import { containerOf, type PodTemplate, podTemplateOf, type VolumeSource } from './pods.ts';

export interface ContainerOptions {
  /** Objects of the namespace; its ConfigMaps and Secrets are mounted. */
  readonly manifests: readonly Manifest[];
  /** The workload whose pod template is used. */
  readonly workload: Manifest;
  readonly container: string;
  readonly podName: string;
  /** Directory for the files of this pod. */
  readonly directory: string;
  /** Entry point of the image, for a container without a command. */
  readonly entryPoint: readonly string[];
  /** In-cluster addresses and their local replacements. */
  readonly addresses: readonly (readonly [inCluster: string, here: string])[];
}

export interface RunningContainer {
  /** Standard output and error so far. */
  readonly output: string;
  readonly running: boolean;
  /** Updates mounted ConfigMaps and Secrets, as a kubelet does some time after a change. */
  remount(manifests: readonly Manifest[]): void;
  /** Sends SIGTERM. Returns the exit code, or null if it was killed after the grace period. */
  stop(): Promise<number | null>;
  readonly exited: Promise<number | null>;
}

/** Programs of images with another path on this machine. */
const programs: Readonly<Record<string, string>> = {
  node: process.execPath,
  ...(process.env.ETCD_BIN && { etcd: process.env.ETCD_BIN }),
};

export function startContainer(options: ContainerOptions): RunningContainer {
  const { manifests, workload, podName, directory, entryPoint } = options;
  const container = containerOf(workload, options.container);
  const pod = podTemplateOf(workload) as PodTemplate; // the caller names a workload with containers
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath }) => {
    const source = pod.spec.volumes?.find((volume) => volume.name === name)?.projected?.sources;
    return { mountPath, folder: path.join(directory, name), source };
  });
  const replaceMountPaths = (text: string): string => replaceOnce(text, mounts);
  const mount = (objects: readonly Manifest[]): void => {
    for (const { folder, source } of mounts) {
      fs.mkdirSync(folder, { recursive: true });
      if (source) writeProjectedVolume(folder, source, objects, replaceMountPaths);
    }
  };
  mount(manifests);

  const here = (text: string): string => {
    const named = text.replaceAll('$(POD_NAME)', podName);
    const reached = options.addresses.reduce((all, [inCluster, local]) => all.replaceAll(inCluster, local), named);
    return replaceMountPaths(reached);
  };
  // The entry point is of this machine already.
  const words = [...(container.command?.map(here) ?? entryPoint), ...(container.args ?? []).map(here)];
  const [command = '', ...args] = words;
  const variables = (container.env ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : [[name, here(value)]],
  );
  const child = spawn(programs[command] ?? command, args, {
    cwd: directory,
    env: { PATH: process.env.PATH, ...Object.fromEntries(variables) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  running.add(child);
  void exited.finally(() => running.delete(child)).catch(() => {}); // callers of `exited` handle the rejection
  return {
    get output() {
      return output;
    },
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    remount: mount,
    stop: async () => {
      child.kill('SIGTERM');
      const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000;
      const kill = setTimeout(() => child.kill('SIGKILL'), graceMs);
      return exited.finally(() => clearTimeout(kill));
    },
    exited,
  };
}

/** Replaces mount paths in one pass: the local folders may themselves be beneath a mount path such as /tmp. */
function replaceOnce(text: string, mounts: readonly { readonly mountPath: string; readonly folder: string }[]): string {
  if (mounts.length === 0) return text;
  const longestFirst = mounts.map(({ mountPath }) => mountPath).sort((a, b) => b.length - a.length);
  const mountPaths = new RegExp(`(?:${longestFirst.map(RegExp.escape).join('|')})(?![\\w.-])`, 'g');
  return text.replace(mountPaths, (found) => mounts.find(({ mountPath }) => mountPath === found)?.folder ?? found);
}

// An interrupted test run leaves no process behind.
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Writes the files of a projected volume into a new folder and atomically switches the symbolic link, as a kubelet
 * does.
 */
function writeProjectedVolume(
  folder: string,
  sources: readonly VolumeSource[],
  manifests: readonly Manifest[],
  /** Replaces mount paths within files by local paths. */
  mounted: (text: string) => string,
): void {
  const version = fs.mkdtempSync(path.join(folder, '..version-'));
  for (const [name, content] of sources.flatMap((source) => filesOf(source, manifests)))
    fs.writeFileSync(path.join(version, name), mounted(content), { mode: 0o440 });
  const data = path.join(folder, '..data');
  fs.symlinkSync(path.basename(version), `${data}_tmp`);
  fs.renameSync(`${data}_tmp`, data);
  for (const name of fs.readdirSync(version)) {
    const file = path.join(folder, name);
    if (!fs.existsSync(file)) fs.symlinkSync(path.join('..data', name), file);
  }
}

function filesOf(
  { secret, configMap }: VolumeSource,
  manifests: readonly Manifest[],
): readonly (readonly [name: string, content: string])[] {
  const [kind, projection] = secret ? ['Secret', secret] : ['ConfigMap', configMap];
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === projection?.name);
  if (!found || !projection) throw new Error(`${kind} ${projection?.name} to mount does not exist`);
  const data = (found.data ?? {}) as Readonly<Record<string, string>>; // the schema of both
  const items = projection.items ?? Object.keys(data).map((key) => ({ key, path: key }));
  return items.map(({ key, path: name }) => {
    const content = data[key];
    if (content === undefined) throw new Error(`${kind} ${projection.name} has no ${key}`);
    return [name, kind === 'Secret' ? Buffer.from(content, 'base64').toString() : content];
  });
}
