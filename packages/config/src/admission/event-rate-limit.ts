import type { Problems } from '@cluster-apiserver/model';
import { int32, object, type ValueOf } from '@cluster-apiserver/model/schema';
import { defineConfigurationKind } from '../load.ts';
import { int32Max, integer, list, oneOf, optional, required } from '../schema.ts';

export interface EventRateLimitConfiguration {
  /** At least one. */
  readonly limits: readonly EventLimit[];
}

export interface EventLimit {
  readonly type: EventLimitType;
  /** Events per second that are admitted once the burst is used up. */
  readonly qps: number;
  readonly burst: number;
  /** Maximum number of buckets. The least recently used one is evicted, and starts full again. */
  readonly cacheSize: number;
}

const types = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;
export type EventLimitType = (typeof types)[number];

/** As in kube-apiserver. */
const defaultCacheSize = 4096;

const positive = integer(1, int32Max, 'must be positive');
const limit = object({
  type: required(
    oneOf(types),
    'Scope of a bucket: all events, or those of a namespace, of a user, of a source and object.',
  ),
  qps: required(positive, 'Events per second that are admitted once the burst is used up.'),
  burst: required(positive, 'Events that are admitted at once.'),
  cacheSize: optional(int32, 'Maximum number of buckets; 0 is the default.', defaultCacheSize),
});

export const eventRateLimitKind = defineConfigurationKind({
  kind: 'Configuration',
  groups: ['eventratelimit.admission.k8s.io'],
  versions: ['v1alpha1'],
  description: 'Configuration of the admission plugin EventRateLimit.',
  fields: {
    limits: required(list(limit), 'Limits, each of which must admit an event.', 'Invalid value: []: must not be empty'),
  },
});

export const readEventRateLimit = (
  { limits }: { readonly limits: readonly ValueOf<typeof limit>[] },
  at: Problems,
): EventRateLimitConfiguration => ({
  limits: limits.map(({ cacheSize = 0, ...declared }, index) => {
    if (cacheSize < 0 && declared.type !== 'Server')
      at.at('limits', index, 'cacheSize').invalid(cacheSize, 'must not be negative');
    return { ...declared, cacheSize: cacheSize || defaultCacheSize };
  }),
});
