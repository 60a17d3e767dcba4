import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { debianPackages, withScratchFolder, keep } from './debian.mjs';
import { cache, Failure } from './project.mjs';

/**
 * Finds etcd, trying in this order: ETCD_BIN; `etcd` on the PATH; the cached copy of 3.5; the official release; the
 * package of a newer Debian suite, which has etcd 3.5; the package of this Debian, cached or fetched now. Nothing is
 * installed system-wide.
 */
export async function provisionEtcd() {
  const named = process.env.ETCD_BIN;
  if (named) {
    if (runs(named)) return named;
    throw new Failure(`ETCD_BIN=${named} does not run as etcd.`);
  }
  const present = ['etcd', newer.etcd].find(runs);
  if (present) return present;
  const missed = [];
  for (const { copies, source } of [
    { copies: newer, source: officialRelease },
    { copies: newer, source: () => debianPackages(newerDebian, newer) },
    { copies: unnamed, source: () => (runs(unnamed.etcd) ? undefined : debianPackages(undefined, unnamed)) },
  ]) {
    if (missed.length > 0) console.log(`That failed; trying another source of etcd. ${missed.at(-1)}`);
    const reason = await source();
    if (!reason && runs(copies.etcd)) return copies.etcd;
    missed.push(reason ?? 'the fetched program does not run');
  }
  throw new Failure(
    [
      'etcd is required but was not found.',
      ...missed.map((reason) => `  ${reason}`),
      'Install etcd 3.4 or newer on the PATH, or set ETCD_BIN.',
    ].join('\n'),
  );
}

const copiesIn = (name) => ({
  etcd: path.join(cache, name, 'etcd'),
  etcdctl: path.join(cache, name, 'etcdctl'),
});
const newer = copiesIn('etcd-3.5');
const older = copiesIn('etcd-3.4');
/** Any version that this Debian packages. */
const unnamed = copiesIn('etcd');

/** The oldest supported series; some tests must pass on it and on the current one. */
export const olderSeries = '3.4';

/**
 * Finds etcd 3.4 and its etcdctl: ETCD_OLDER_BIN, the cached copy, or the package of an older Debian. Returns the
 * reason if there is none, or if the other tests already use this series.
 */
export function provisionOlderEtcd(current) {
  if (seriesOf(current) === olderSeries) return { reason: `the other tests already used etcd ${olderSeries}` };
  const named = process.env.ETCD_OLDER_BIN;
  if (named) {
    if (seriesOf(named) === olderSeries) return { etcd: named };
    throw new Failure(`ETCD_OLDER_BIN=${named} does not run as etcd ${olderSeries}.`);
  }
  const reason = isOlder(older) ? undefined : debianPackages(olderDebian, older);
  return isOlder(older) ? older : { reason: `no etcd ${olderSeries}: ${reason ?? 'the fetched program does not run'}` };
}

const isOlder = ({ etcd }) => seriesOf(etcd) === olderSeries;

/**
 * Finds etcdctl, which creates and restores snapshots: ETCDCTL_BIN, the PATH, the copy beside this etcd, or the Debian
 * package. Returns undefined if there is none; tests of restore are then skipped with a reason.
 */
export async function provisionEtcdctl(etcd) {
  const beside = path.join(path.dirname(etcd), 'etcdctl');
  const candidates = [process.env.ETCDCTL_BIN, 'etcdctl', beside, newer.etcdctl, unnamed.etcdctl];
  const present = candidates.find((program) => program && controls(program));
  if (present) return present;
  const reason = debianPackages(undefined, { etcdctl: unnamed.etcdctl });
  if (!reason && controls(unnamed.etcdctl)) return unnamed.etcdctl;
  console.log(`etcdctl not found; skipping tests that restore snapshots. ${reason ?? ''}`);
  return undefined;
}

/** For the head of a test run: which etcd its results are about. */
export const describeEtcd = (program) => `etcd ${versionOf(program)} (${program})`;

const versionOf = (program) => /^etcd Version: (\S+)/.exec(outputOf(program, ['--version']) ?? '')?.[1];
const seriesOf = (program) => versionOf(program)?.split('.').slice(0, 2).join('.');
const runs = (program) => versionOf(program) !== undefined;
const controls = (program) => outputOf(program, ['version'])?.startsWith('etcdctl version') ?? false;

/** A newer one needs the checksums of its release page. `docker-compose.yml` and the chart name the same version. */
const release = {
  version: '3.5.21',
  sha256: {
    'linux-x64': 'adddda4b06718e68671ffabff2f8cee48488ba61ad82900e639d108f2148501c',
    'linux-arm64': '95bf6918623a097c0385b96f139d90248614485e781ec9bee4768dbb6c79c53f',
  },
};
const downloadTimeoutMs = 120_000;

/** Downloads and verifies the release. Returns the reason if it fails. */
async function officialRelease() {
  const platform = `${process.platform}-${process.arch}`;
  const sha256 = release.sha256[platform];
  if (!sha256) return `Official release: no archive is pinned for ${platform}.`;
  const name = `etcd-v${release.version}-${platform.replace('x64', 'amd64')}`;
  const address = `https://github.com/etcd-io/etcd/releases/download/v${release.version}/${name}.tar.gz`;
  console.log(`Fetching etcd ${release.version} …`);
  let archive;
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(downloadTimeoutMs) });
    if (!answer.ok) return `Official release: ${address} answered ${answer.status}.`;
    archive = Buffer.from(await answer.arrayBuffer());
  } catch (error) {
    return `Official release: ${address} is unreachable (${error.cause?.message ?? error.message}).`;
  }
  const found = createHash('sha256').update(archive).digest('hex');
  if (found !== sha256)
    throw new Failure(`${address} does not match the pinned checksum: its SHA-256 is ${found}, not ${sha256}.`);
  return withScratchFolder((scratch) => {
    fs.writeFileSync(path.join(scratch, 'etcd.tar.gz'), archive);
    const unpacked = step('tar', ['-xzf', 'etcd.tar.gz'], { cwd: scratch });
    if (!unpacked.ok) return `Official release: ${unpacked.output}`;
    keep(path.join(scratch, name, 'etcdctl'), newer.etcdctl);
    keep(path.join(scratch, name, 'etcd'), newer.etcd);
    return undefined;
  });
}

/** Its programs also run on the previous Debian release. */
const newerDebian = 'trixie';
const olderDebian = 'bookworm';
