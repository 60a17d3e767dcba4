import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { outputOf } from './child.mjs';
import { debianPackages } from './debian.mjs';
import { provisionNode } from './node.mjs';
import { cache, Failure, root } from './project.mjs';

/**
 * Finds etcd, trying in this order: ETCD_BIN; `etcd` on the PATH; the cached copy of 3.5; the official release; the
 * package of a newer Debian suite, which has etcd 3.5; the package of this Debian, cached or fetched now. Versions that the
 * server does not support are passed over. Nothing is installed system-wide.
 */
export async function provisionEtcd() {
  const named = process.env.ETCD_BIN;
  if (named) {
    if (runs(named)) return named;
    throw new Failure(`ETCD_BIN=${named} does not run as etcd ${oldest.join('.')} or newer.`);
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
      `Install etcd ${oldest.join('.')} or newer on the PATH${process.platform === 'darwin' ? ' (brew install etcd)' : ''}, or set ETCD_BIN.`,
    ].join('\n'),
  );
}

const copiesIn = (name) => ({
  etcd: path.join(cache, name, 'etcd'),
  etcdctl: path.join(cache, name, 'etcdctl'),
});
const newer = copiesIn('etcd-3.5');
/** Any version that this Debian packages. */
const unnamed = copiesIn('etcd');

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

/** As `isTooOld` of the package storage, which needs another Node than this file. */
const oldest = [3, 5, 8];
function runs(program) {
  const parts = versionOf(program)
    ?.split('.', 3)
    .map((part) => Number.parseInt(part, 10));
  const at = oldest.findIndex((part, index) => part !== parts?.[index]);
  return parts !== undefined && (at < 0 || parts[at] > oldest[at]);
}

const controls = (program) => outputOf(program, ['version'])?.startsWith('etcdctl version') ?? false;

/** The program that starts clusters fetches and verifies the release, too. */
const launcher = path.join('packages', 'devcluster', 'src', 'main.ts');
/** Its exit code for a release with another checksum than the pinned one. */
const wrongChecksum = 2;

/** Returns the reason if it fails. */
function officialRelease() {
  const args = ['--conditions=source', launcher, 'fetch-etcd', path.dirname(newer.etcd)];
  console.log('Fetching the official release of etcd …');
  const { status, stdout, stderr } = spawnSync(provisionNode(), args, { cwd: root, encoding: 'utf8' });
  if (status === wrongChecksum) throw new Failure(stderr.trim());
  return status === 0 ? undefined : `Official release: ${(stderr || stdout).trim()}`;
}

/** Its programs also run on the previous Debian release. */
const newerDebian = 'trixie';
