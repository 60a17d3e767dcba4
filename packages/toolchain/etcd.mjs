import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { debianPackages, inScratch, keep } from './debian.mjs';
import { cache, Failure } from './project.mjs';

/**
 * Where etcd comes from, in this order: what ETCD_BIN names; `etcd` on the PATH; the copy of 3.5 fetched last time; the
 * official release; the package of a newer Debian, which has etcd 3.5; the package of this Debian, fetched now or last
 * time. The first that is there is taken, and nothing is installed system-wide.
 */
export async function provisionEtcd() {
  const named = process.env.ETCD_BIN;
  if (named) {
    if (runs(named)) return named;
    throw new Failure(`ETCD_BIN names ${named}, which does not run as etcd.`);
  }
  const present = ['etcd', newer.etcd].find(runs);
  if (present) return present;
  const missed = [];
  for (const [copies, source] of [
    [newer, officialRelease],
    [newer, () => debianPackages(newerDebian, newer)],
    [unnamed, () => (runs(unnamed.etcd) ? undefined : debianPackages(undefined, unnamed))],
  ]) {
    const reason = await source();
    if (!reason && runs(copies.etcd)) return copies.etcd;
    missed.push(reason ?? 'what was fetched does not run');
  }
  throw new Failure(
    [
      'etcd is needed and was not found.',
      ...missed.map((reason) => `  ${reason}`),
      'Install etcd 3.4 or newer so that it is on the PATH, or let ETCD_BIN name it.',
    ].join('\n'),
  );
}

const copiesIn = (name) => ({
  etcd: path.join(cache, name, 'etcd'),
  etcdctl: path.join(cache, name, 'etcdctl'),
});
const newer = copiesIn('etcd-3.5');
const older = copiesIn('etcd-3.4');
/** Of whatever version this Debian has. */
const unnamed = copiesIn('etcd');

/** The oldest series that is supported, for the tests that must hold on both. */
export const olderSeries = '3.4';

/**
 * etcd 3.4 and its etcdctl: what ETCD_OLDER_BIN names, the copy fetched last time, or the package of an older Debian.
 * Gives the reason where there is none, or where the other tests run on it already.
 */
export function provisionOlderEtcd(current) {
  if (seriesOf(current) === olderSeries) return { reason: `the tests ran on etcd ${olderSeries} already` };
  const named = process.env.ETCD_OLDER_BIN;
  if (named) {
    if (seriesOf(named) === olderSeries) return { etcd: named };
    throw new Failure(`ETCD_OLDER_BIN names ${named}, which does not run as etcd ${olderSeries}.`);
  }
  const reason = isOlder(older) ? undefined : debianPackages(olderDebian, older);
  return isOlder(older) ? older : { reason: `no etcd ${olderSeries}: ${reason ?? 'what was fetched does not run'}` };
}

const isOlder = ({ etcd }) => seriesOf(etcd) === olderSeries;

/**
 * etcdctl, which makes and restores snapshots: what ETCDCTL_BIN names, the one on the PATH, the copy that came with
 * this etcd, or the package of Debian. Undefined where there is none: the tests of restoring are skipped then, and say so.
 */
export async function provisionEtcdctl(etcd) {
  const beside = path.join(path.dirname(etcd), 'etcdctl');
  const candidates = [process.env.ETCDCTL_BIN, 'etcdctl', beside, newer.etcdctl, unnamed.etcdctl];
  const present = candidates.find((program) => program && controls(program));
  if (present) return present;
  const reason = debianPackages(undefined, { etcdctl: unnamed.etcdctl });
  if (!reason && controls(unnamed.etcdctl)) return unnamed.etcdctl;
  console.log(`No etcdctl, so tests that restore snapshots are skipped. ${reason ?? ''}`);
  return undefined;
}

const versionOf = (program) => /^etcd Version: (\S+)/.exec(outputOf(program, ['--version']) ?? '')?.[1];
const seriesOf = (program) => versionOf(program)?.split('.').slice(0, 2).join('.');
const runs = (program) => versionOf(program) !== undefined;
const controls = (program) => outputOf(program, ['version'])?.startsWith('etcdctl version') ?? false;

const release = {
  version: '3.5.21',
  sha256: {
    'linux-x64': 'adddda4b06718e68671ffabff2f8cee48488ba61ad82900e639d108f2148501c',
    'linux-arm64': '95bf6918623a097c0385b96f139d90248614485e781ec9bee4768dbb6c79c53f',
  },
};
const downloadTimeoutMs = 120_000;

/** Gives the reason when there is no copy afterwards. */
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
    return `Official release: ${address} was not reached (${error.cause?.message ?? error.message}).`;
  }
  const found = createHash('sha256').update(archive).digest('hex');
  if (found !== sha256) throw new Failure(`${address} is not what was pinned: its SHA-256 is ${found}, not ${sha256}.`);
  return inScratch((scratch) => {
    fs.writeFileSync(path.join(scratch, 'etcd.tar.gz'), archive);
    const unpacked = step('tar', ['-xzf', 'etcd.tar.gz'], { cwd: scratch });
    if (!unpacked.ok) return `Official release: ${unpacked.output}`;
    keep(path.join(scratch, name, 'etcdctl'), newer.etcdctl);
    keep(path.join(scratch, name, 'etcd'), newer.etcd);
  });
}

/** Its programs run on the Debian before it, too. */
const newerDebian = 'trixie';
const olderDebian = 'bookworm';
