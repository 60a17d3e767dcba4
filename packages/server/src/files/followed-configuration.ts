import { pollChanges, type CleanupStack } from '@cluster-apiserver/base';
import { asError } from '../as-error.ts';
import type { WiringContext } from '../configuration/context.ts';
import { withFlagErrors, type ConfigurationFlag, readFlagFile } from './flag-files.ts';
import { createReloadMeasures } from './reload-measures.ts';

/** A configuration file, and how its content is applied. */
export interface FollowedFile<T> {
  readonly flag: ConfigurationFlag;
  /** For metric names and log messages. */
  readonly name: 'encryption' | 'authentication' | 'authorization' | 'abac_policy' | 'audit_policy';
  readonly reloads: boolean;
  /** Throws a ConfigurationError for invalid content. */
  readonly build: (content: string) => T | Promise<T>;
  /** Throws if a new configuration must not replace the working one. Not called for the first one. */
  readonly requireHealthy?: (next: T) => void;
  /** Called for a replaced configuration, which running requests may still use, and at shutdown. */
  readonly close?: (old: T) => void;
  readonly changed?: () => void;
}

const kinds: Readonly<Record<ConfigurationFlag, string>> = {
  'encryption-provider-config': 'EncryptionConfiguration',
  'authentication-config': 'AuthenticationConfiguration',
  'authorization-config': 'AuthorizationConfiguration',
  'authorization-policy-file': 'Policy',
  'audit-policy-file': 'Policy',
};

/** Short, because operators wait for a change to take effect. The file is small. */
const pollMs = 1_000;

/**
 * Loads the configuration file of a flag and reloads it on changes; undefined if the flag is not set. The first content must
 * be valid. Later contents are built completely before they replace the current one; invalid ones are logged and ignored.
 */
export async function followConfiguration<T>(
  { flag, name, reloads, build, requireHealthy = () => {}, close = () => {}, changed = () => {} }: FollowedFile<T>,
  { flags, environment: { clock, files }, metrics, log, serverId, records }: WiringContext,
  cleanup: CleanupStack,
): Promise<(() => T) | undefined> {
  const first = await readFlagFile(flag, flags, files);
  if (!first) return undefined;
  const file = flags[flag];
  const what = `${name.replace('_', ' ')} configuration`;
  let current = await withFlagErrors(flag, () => build(first.toString()));
  let closed = false;
  cleanup.defer(`current ${what}`, () => {
    closed = true;
    close(current);
  });
  const record = records.add({ flag, kind: kinds[flag], path: file });
  record.applied(first);
  if (!reloads) return () => current;
  const measures = createReloadMeasures({
    prefix: `apiserver_${name}_config_controller`,
    what: `the ${name} configuration`,
    serverId,
    metrics,
    clock,
  })({});
  measures.applied(first);
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
          requireHealthy(next);
        } catch (fault) {
          close(next);
          throw fault;
        }
        const old = current;
        current = next;
        measures.applied(content);
        measures.reloaded('success');
        record.applied(content);
        log.withName('configuration').info('configuration reloaded', { configuration: name, flag, file });
        close(old);
        changed();
      },
      onError: (error) => {
        measures.reloaded('failure');
        record.failed(error);
        log.withName('configuration').error('cannot reload the configuration; keeping the previous one', {
          configuration: name,
          flag,
          file,
          error: asError(error),
        });
      },
    },
    first,
  );
  cleanup.defer(what, stop);
  return () => current;
}
