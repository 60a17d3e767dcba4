import type { Scope } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import { campaign, type EtcdClient, startCompaction } from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { ServerFlags } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';

export interface ControllerWiring {
  readonly flags: ServerFlags;
  readonly surroundings: Surroundings;
  readonly log: Log;
  readonly client: EtcdClient;
  readonly resources: readonly Resource[];
  readonly keyPrefix: string;
}

/** What one replica at a time does for all of them. */
export async function startControllers({ flags, surroundings, log, client, keyPrefix }: ControllerWiring, scope: Scope): Promise<void> {
  const identity = surroundings.random.uuid();
  // Outside the prefix of the objects, so that no list or watch of them ever sees it.
  const election = campaign({ client, key: `${keyPrefix}.election/leader`, identity });
  scope.onClose('election', () => election.close());
  if (flags['etcd-compaction-interval'] > 0) {
    const compaction = startCompaction({
      client,
      election,
      intervalMs: flags['etcd-compaction-interval'],
      report: (event) => {
        if (event.type === 'compacted') log.debug(2, 'compacted the history of etcd', { revision: event.revision });
        else log.warn('compacting the history of etcd failed; the next interval tries again', { error: asError(event.cause) });
      },
    });
    scope.onClose('compaction', () => compaction.close());
  }
}
