import { declareKind } from '../load.ts';
import { int32, list, object, string } from '../schema.ts';
import type { ConfigNode } from '../config-node.ts';

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

const limitsSchema = list(
  'Limits, each of which must admit an event.',
  object(
    'One limit.',
    {
      type: string('What shares a bucket: all events, or those of a namespace, of a user, of a source and object.', {
        enum: types,
      }),
      qps: int32('Events per second that are admitted once the burst is used up.', { minimum: 1 }),
      burst: int32('Events that are admitted at once.', { minimum: 1 }),
      cacheSize: int32('Maximum number of buckets; 0 is the default.', { default: defaultCacheSize }),
    },
    { required: ['type', 'qps', 'burst'] },
  ),
  { minItems: 1 },
);

export const eventRateLimitKind = declareKind({
  kind: 'Configuration',
  groups: ['eventratelimit.admission.k8s.io'],
  versions: ['v1alpha1'],
  description: 'Configuration of the admission plugin EventRateLimit.',
  fields: { limits: limitsSchema },
  required: ['limits'],
});

export const readEventRateLimit = ({
  limits,
}: {
  readonly limits: ConfigNode<typeof limitsSchema>;
}): EventRateLimitConfiguration => ({ limits: readLimits(limits) });

function readLimits(node: ConfigNode<typeof limitsSchema>): readonly EventLimit[] {
  const items = node.items();
  if (items.length === 0) node.addInvalid([], 'must not be empty');
  return items.flatMap((item) => {
    const fields = item.fields();
    const type = readType(fields.type);
    const [burst, qps] = [readPositive(fields.burst), readPositive(fields.qps)];
    const cacheSize = fields.cacheSize.int32() ?? 0;
    if (cacheSize < 0 && type !== 'Server') fields.cacheSize.addInvalid(cacheSize, 'must not be negative');
    return type ? [{ type, qps, burst, cacheSize: cacheSize || defaultCacheSize }] : [];
  });
}

function readType(node: ConfigNode): EventLimitType | undefined {
  const text = node.string() ?? '';
  const type = types.find((one) => one === text);
  if (!type) {
    const supported = types.map((one) => JSON.stringify(one)).join(', ');
    node.addProblem(`Unsupported value: ${JSON.stringify(text)}: supported values: ${supported}`);
  }
  return type;
}

function readPositive(node: ConfigNode): number {
  const number = node.int32() ?? 0;
  if (number <= 0) node.addInvalid(number, 'must be positive');
  return number;
}
