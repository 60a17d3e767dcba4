import type { NamespaceCondition } from '@cluster-apiserver/kinds';
import type { Content } from './content.ts';

type Finding = Pick<NamespaceCondition, 'reason' | 'message'>;

interface ConditionType {
  readonly type: string;
  /** The message if nothing is wrong. */
  readonly fine: Finding;
  /** Undefined when nothing is wrong. */
  readonly found: (content: Content) => Finding | undefined;
}

const none = (): undefined => undefined;

/** The conditions in the order of upstream. The first two are about discovery, which cannot fail here. */
const types: readonly ConditionType[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    fine: { reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' },
    found: none,
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    fine: { reason: 'ParsedGroupVersions', message: 'All legacy kube types successfully parsed' },
    found: none,
  },
  {
    type: 'NamespaceDeletionContentFailure',
    fine: {
      reason: 'ContentDeleted',
      message: 'All content successfully deleted, may be waiting on finalization',
    },
    found: ({ failures }) =>
      failures.length === 0
        ? undefined
        : {
            reason: 'ContentDeletionFailed',
            message: `Failed to delete all resource types, ${failures.length} remaining: ${failures.toSorted().join(', ')}`,
          },
  },
  {
    type: 'NamespaceContentRemaining',
    fine: { reason: 'ContentRemoved', message: 'All content successfully removed' },
    found: ({ remaining }) =>
      listed('SomeResourcesRemain', 'Some resources are remaining', remaining, (resource, count) => {
        return `${resource} has ${count} resource instances`;
      }),
  },
  {
    type: 'NamespaceFinalizersRemaining',
    fine: { reason: 'ContentRemoved', message: 'All content successfully removed' },
    found: ({ finalizers }) =>
      listed(
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining',
        finalizers,
        (name, count) => {
          return `${name} in ${count} resource instances`;
        },
      ),
  },
];

/** The conditions of a namespace with this remaining content. Conditions of other writers stay. */
export function conditionsAfter(
  before: readonly NamespaceCondition[],
  content: Content,
  now: string,
): NamespaceCondition[] {
  const others = before.filter(({ type }) => !types.some((known) => known.type === type));
  const own = types.map(({ type, fine, found }): NamespaceCondition => {
    const finding = found(content);
    const status = finding ? 'True' : 'False';
    const last = before.find((condition) => condition.type === type);
    const lastTransitionTime = last?.status === status ? last.lastTransitionTime : now;
    return { type, status, lastTransitionTime, ...(finding ?? fine) };
  });
  return [...others, ...own];
}

/** Names in one message: users can invent any number of finalizers, and a condition has to fit into the store. */
const namesMax = 20;

function listed(
  reason: string,
  message: string,
  counts: ReadonlyMap<string, number>,
  inWords: (what: string, count: number) => string,
): Finding | undefined {
  if (counts.size === 0) return undefined;
  const named = Array.from(counts.entries().take(namesMax), ([what, count]) => inWords(what, count)).toSorted();
  const more = counts.size > namesMax ? `, and ${counts.size - namesMax} more` : '';
  return { reason, message: `${message}: ${named.join(', ')}${more}` };
}
