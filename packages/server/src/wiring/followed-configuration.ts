import { follow, type Scope } from '@cluster-apiserver/base';
import { asError } from '../as-error.ts';
import type { WiringContext } from './context.ts';
import { withFlagErrors, type ConfigurationFlag, readFlagFile } from './flag-files.ts';
import { createReloadMeasures } from './reload-measures.ts';

/** What is followed, and what stands in service because of it. */
export interface FollowedFile<T> {
  readonly flag: ConfigurationFlag;
  /** In names of metrics and in the log. */
  readonly name: 'encryption' | 'authentication' | 'authorization' | 'abac_policy' | 'audit_policy';
  readonly reloads: boolean;
  /** Throws a ConfigurationError for a content that cannot come into service. */
  readonly build: (content: string) => T | Promise<T>;
  /** Throws when one that was built had better not replace the one that works. The first one replaces nothing. */
  readonly requireHealthy?: (next: T) => void;
  /** Another is in service or none will be; this one may still be at work for whoever has it. */
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

/** One small file. Whoever changes it waits for it to be read, and not for much longer than that. */
const pollMs = 1_000;

/**
 * What the file of a flag leads to, now and after each change of it; undefined when the flag names none. The first one
 * must be without fault. Of the later ones each is whole before it replaces the one before, or is refused and told.
 */
export async function followConfiguration<T>(
  { flag, name, reloads, build, requireHealthy = () => {}, close = () => {}, changed = () => {} }: FollowedFile<T>,
  { flags, environment: { clock, files }, metrics, log, serverId, records }: WiringContext,
  scope: Scope,
): Promise<(() => T) | undefined> {
  const first = await readFlagFile(flag, flags, files);
  if (!first) return undefined;
  const file = flags[flag];
  const what = `${name.replace('_', ' ')} configuration`;
  let current = await withFlagErrors(flag, () => build(first.toString()));
  let closed = false;
  scope.onClose(`what the ${what} has opened`, () => {
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
  measures.inService(first);
  const stop = follow(
    {
      clock,
      pollMs,
      read: () => files.read(file),
      same: (one, other) => one.equals(other),
      use: async (content) => {
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
        measures.inService(content);
        measures.reloaded('success');
        record.applied(content);
        log.withName('configuration').info(`a new ${what} is in service`, { file });
        close(old);
        changed();
      },
      failed: (error) => {
        measures.reloaded('failure');
        record.failed(error);
        log
          .withName('configuration')
          .error(`the new ${what} is not usable, the old one stays`, { file, error: asError(error) });
      },
    },
    first,
  );
  scope.onClose(what, stop);
  return () => current;
}
