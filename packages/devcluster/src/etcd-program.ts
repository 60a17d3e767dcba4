import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import { isTooOld, oldestVersion } from '@cluster-apiserver/storage';
import { StartError } from './supervise.ts';

/** The release that is fetched. `docker-compose.yml` and the chart name the same version. */
export const release = {
  version: '3.5.21',
  /** From the page of the release. */
  sha256: {
    'linux-x64': 'adddda4b06718e68671ffabff2f8cee48488ba61ad82900e639d108f2148501c',
    'linux-arm64': '95bf6918623a097c0385b96f139d90248614485e781ec9bee4768dbb6c79c53f',
  } as Readonly<Record<string, string>>,
};
const downloadTimeoutMs = 120_000;

/** Another program than wanted must not be run, so no other source is tried either. */
export class ChecksumError extends StartError {}

export interface Platform {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
}

/**
 * The etcd to start: ETCD_BIN, `etcd` on the PATH, or the official release, which is fetched into `directory` once. Throws a
 * StartError that says what to do.
 */
export async function findEtcd(
  env: NodeJS.ProcessEnv,
  directory: string,
  platform: Platform,
  print: (line: string) => void,
): Promise<string> {
  const named = env['ETCD_BIN'];
  if (named !== undefined) {
    const version = versionOf(named);
    if (version === undefined) throw new StartError(`ETCD_BIN=${named} does not run as etcd.`);
    if (isTooOld(version))
      throw new StartError(`ETCD_BIN=${named} is etcd ${version}; ${oldestVersion} is the oldest that is supported.`);
    return named;
  }
  if (isUsable('etcd')) return 'etcd';
  const fetched = path.join(directory, 'etcd');
  if (isUsable(fetched)) return fetched;
  try {
    await fetchEtcd(directory, platform, print);
  } catch (error) {
    if (!(error instanceof StartError) || error instanceof ChecksumError) throw error;
    const install = platform.platform === 'darwin' ? ' (brew install etcd)' : '';
    throw new StartError(
      `etcd ${oldestVersion} or newer is required, and is not on the PATH. ${error.message}\nInstall etcd ${oldestVersion} or newer${install}, set ETCD_BIN to the program, or use one that runs: --etcd-servers URLS.`,
    );
  }
  if (!isUsable(fetched)) throw new StartError(`${fetched} was fetched, but does not run on this machine.`);
  return fetched;
}

function isUsable(program: string): boolean {
  const version = versionOf(program);
  return version !== undefined && !isTooOld(version);
}

const versionOf = (program: string): string | undefined =>
  /^etcd Version: (\S+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout)?.[1];

/** Fetches etcd and etcdctl of the official release into the directory, after comparing its checksum. */
export async function fetchEtcd(
  directory: string,
  { platform, arch }: Platform,
  print: (line: string) => void,
): Promise<void> {
  const name = `${platform}-${arch}`;
  const sha256 = release.sha256[name];
  if (sha256 === undefined) throw new StartError(`No release of etcd is pinned for ${name}.`);
  const folder = `etcd-v${release.version}-${name.replace('x64', 'amd64')}`;
  const address = `https://github.com/etcd-io/etcd/releases/download/v${release.version}/${folder}.tar.gz`;
  print(`Fetching etcd ${release.version} …`);
  const archive = await download(address);
  requireChecksum(archive, sha256, address);
  fs.mkdirSync(directory, { recursive: true });
  const scratch = fs.mkdtempSync(path.join(directory, 'fetching-'));
  try {
    fs.writeFileSync(path.join(scratch, 'etcd.tar.gz'), archive);
    const { status, stderr } = spawnSync('tar', ['-xzf', 'etcd.tar.gz'], { cwd: scratch, encoding: 'utf8' });
    if (status !== 0) throw new StartError(`The release of etcd cannot be unpacked: ${stderr}`);
    // etcd last: where it exists, etcdctl does too.
    for (const program of ['etcdctl', 'etcd'])
      fs.renameSync(path.join(scratch, folder, program), path.join(directory, program));
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

async function download(address: string): Promise<Buffer> {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(downloadTimeoutMs) });
    if (answer.ok) return Buffer.from(await answer.arrayBuffer());
    throw new Error(`it answered ${answer.status}`);
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new StartError(`${address} is unreachable: ${errorMessage(cause)}.`);
  }
}

export function requireChecksum(archive: Buffer, sha256: string, address: string): void {
  const found = createHash('sha256').update(archive).digest('hex');
  if (found !== sha256)
    throw new ChecksumError(`${address} does not match the pinned checksum: its SHA-256 is ${found}, not ${sha256}.`);
}
