import { pollChanges, type CleanupStack } from '@cluster-apiserver/base';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { ServerFlags } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';
import type { FileRecords } from './configz.ts';
import { byFlag, type ConfigurationFlag, flagFile } from './flag-files.ts';
import { reloadMeasures } from './reload-measures.ts';

/** What is followed, and what stands in service because of it. */
export interface Following<T> {
  readonly flag: ConfigurationFlag;
  /** In names of metrics and in the log. */
  readonly name: 'encryption' | 'authentication' | 'authorization' | 'abac_policy' | 'audit_policy';
  readonly reloads: boolean;
  /** Throws a ConfigurationError for a content that cannot come into service. */
  readonly build: (content: string) => T | Promise<T>;
  /** Throws when one that was built had better not replace the one that works. The first one replaces nothing. */
  readonly requireWell?: (next: T) => void;
  /** Another is in service or none will be; this one may still be at work for whoever has it. */
  readonly close?: (old: T) => void;
  readonly changed?: () => void;
}

export interface FollowingOptions {
  readonly flags: ServerFlags;
  readonly surroundings: Surroundings;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Of this process, in metrics that are compared over replicas. */
  readonly serverId: string;
  /** What becomes of the files. */
  readonly records: FileRecords;
}

const kinds: Readonly<Record<ConfigurationFlag, string>> = {
  'encryption-provider-config': 'EncryptionConfiguration',
  'authentication-config': 'AuthenticationConfiguration',
  'authorization-config': 'AuthorizationConfiguration',
  'authorization-policy-file': 'Policy',
  'audit-policy-file': 'Policy',
};

/** One small file. Whoever changes it waits for it to be read, and not for much longer than that. */
const pollMs = 1_000;

/**
 * What the file of a flag leads to, now and after each change of it; undefined when the flag names none. The first one
 * must be without fault. Of the later ones each is whole before it replaces the one before, or is refused and told.
 */
export async function followConfiguration<T>(
  { flag, name, reloads, build, requireWell = () => {}, close = () => {}, changed = () => {} }: Following<T>,
  { flags, surroundings: { clock, files }, metrics, log, serverId, records }: FollowingOptions,
  scope: CleanupStack,
): Promise<(() => T) | undefined> {
  const first = await flagFile(flag, flags, files);
  if (!first) return undefined;
  const file = flags[flag];
  const what = `${name.replace('_', ' ')} configuration`;
  let current = await byFlag(flag, () => build(first.toString()));
  let closed = false;
  scope.defer(`what the ${what} has opened`, () => {
    closed = true;
    close(current);
  });
  const record = records.add({ flag, kind: kinds[flag], path: file });
  record.applied(first);
  if (!reloads) return () => current;
  const measures = reloadMeasures({
    prefix: `apiserver_${name}_config_controller`,
    what: `the ${name} configuration`,
    serverId,
    metrics,
    clock,
  })({});
  measures.inService(first);
  const stop = pollChanges(
    {
      clock,
      pollMs,
      read: () => files.read(file),
      isEqual: (one, other) => one.equals(other),
      apply: async (content) => {
        const next = await build(content.toString());
        if (closed) return close(next);
        try {
          requireWell(next);
        } catch (fault) {
          close(next);
          throw fault;
        }
        const old = current;
        current = next;
        measures.inService(content);
        measures.reloaded('success');
        record.applied(content);
        log.withName('configuration').info(`a new ${what} is in service`, { file });
        close(old);
        changed();
      },
      onError: (error) => {
        measures.reloaded('failure');
        record.failed(error);
        log
          .withName('configuration')
          .error(`the new ${what} is not usable, the old one stays`, { file, error: asError(error) });
      },
    },
    first,
  );
  scope.defer(what, stop);
  return () => current;
}
