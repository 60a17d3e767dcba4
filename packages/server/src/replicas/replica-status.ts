import { hash } from 'node:crypto';
import { isJsonObject } from '@cluster-apiserver/model/json';
import type { ReplicaStatus } from '@cluster-apiserver/pipeline';
import type { RecordedFile } from '../files/file-records.ts';
import { type Replica, versionFact } from './replica-leases.ts';
import type { Replicas } from './replicas.ts';

/** The facts that every replica publishes with each renewal. */
export const revisionFact = 'observed-revision';
export const configurationFact = 'configuration-hashes';

/** What may differ between replicas: where one listens and writes, and how it proves who it is. */
const ownFlags: ReadonlySet<string> = new Set([
  'bind-address',
  'secure-port',
  'cert-dir',
  'tls-cert-file',
  'tls-private-key-file',
  'audit-log-path',
]);

/** Enough to tell contents apart; a Lease is no place for more. */
const shownCharacters = 12;

const shortHash = (text: string): string => hash('sha256', text).slice(0, shownCharacters);

/** A hash of the flags, and one of the files that each flag names, as far as replicas should agree on them. */
export function hashConfiguration(
  flags: Readonly<Record<string, string>>,
  files: readonly RecordedFile[],
): Readonly<Record<string, string>> {
  const shared = Object.entries(flags).filter(([name]) => !ownFlags.has(name));
  const byFlag = Map.groupBy(
    files.filter((file) => file.hash !== undefined && !ownFlags.has(file.flag)),
    ({ flag }) => flag,
  );
  return {
    flags: shortHash(JSON.stringify(shared)),
    ...Object.fromEntries([...byFlag].map(([flag, named]) => [flag, shortHash(named.map((file) => file.hash).join())])),
  };
}

/** The live replicas as this one sees them, for /statusz. */
export function describeReplicas(replicas: Replicas): readonly ReplicaStatus[] {
  const live = replicas.live();
  const own = live.find(({ identity }) => identity === replicas.identity);
  const ownHashes = own && readHashes(own);
  return live.map((replica) => {
    const { identity, hostname, renewTime, clockOffsetMs, facts } = replica;
    const configuration = readHashes(replica);
    return {
      identity,
      isThisReplica: replica === own,
      hostname: hostname ?? '',
      version: facts[versionFact] ?? '',
      observedRevision: facts[revisionFact] ?? '',
      renewTime: renewTime ?? '',
      ...(clockOffsetMs !== undefined && { clockOffsetSeconds: clockOffsetMs / 1_000 }),
      configuration,
      configurationDiffersIn: ownHashes ? namesThatDiffer(configuration, ownHashes) : [],
    };
  });
}

type Hashes = Readonly<Record<string, string>>;

function namesThatDiffer(one: Hashes, other: Hashes): readonly string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]).sort();
}

/** A user who may write Leases may write anything into one. */
function readHashes({ facts }: Replica): Hashes {
  try {
    const value: unknown = JSON.parse(facts[configurationFact] ?? '{}');
    if (isJsonObject(value))
      return Object.fromEntries(
        Object.entries(value).flatMap(([flag, one]) => (typeof one === 'string' ? [[flag, one]] : [])),
      );
  } catch {
    // shown as none
  }
  return {};
}
