import { formatPath, type Problems } from '@cluster-apiserver/model';
import { checkedString } from './schema.ts';

/** One resource, all of a group, or all. The core group is ''. */
export interface ResourcePattern {
  /** Undefined for all resources of the group. */
  readonly resource: string | undefined;
  /** Undefined for all groups; then `resource` is undefined, too. */
  readonly group: string | undefined;
}

export const matches = (pattern: ResourcePattern, resource: string, group: string): boolean =>
  (pattern.group === undefined || pattern.group === group) &&
  (pattern.resource === undefined || pattern.resource === resource);

/** Whether the pattern matches everything that the other one matches. */
const covers = (pattern: ResourcePattern, other: ResourcePattern): boolean =>
  (pattern.group === undefined || pattern.group === other.group) &&
  (pattern.resource === undefined || pattern.resource === other.resource);

export const resourcePattern = checkedString((value, at) => {
  const problem = findPatternProblem(value);
  if (problem !== undefined) at.report(problem);
});

export function readPattern(pattern: string): ResourcePattern {
  if (pattern === '*.*') return { resource: undefined, group: undefined };
  const dot = pattern.indexOf('.');
  const [resource, group] = dot < 0 ? [pattern, ''] : [pattern.slice(0, dot), pattern.slice(dot + 1)];
  return { resource: resource === '*' ? undefined : resource, group };
}

const form = /^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)(\.([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?)?$/;

function findPatternProblem(text: string): string | undefined {
  if (text === '') return 'name a resource';
  if (text === '*.*') return undefined;
  if (text === '*') return 'a star alone is not clear: write *. for the core group, or *.* for everything';
  if (/[A-Z]/.test(text)) return 'resources are written in small letters';
  if (text.endsWith('.*')) return 'one resource of all groups cannot be meant: name its group';
  if (!form.test(text)) return 'expected resource, resource.group, *.group, *. or *.*';
  if (text.endsWith('.') && text !== '*.') return 'resources of the core group are written without a dot';
  if (text.endsWith('.events.k8s.io'))
    return 'events of every group are stored as those of the core group: write events';
  return undefined;
}

export interface PlacedPattern {
  readonly at: Problems;
  readonly pattern: ResourcePattern;
  readonly list: number;
}

/**
 * Reports overlapping patterns: within a list one of the two is superfluous, and in a later list a covered pattern has no
 * effect. A wildcard may follow the exceptions from it.
 */
export function reportOverlaps(placed: readonly PlacedPattern[]): void {
  for (const [index, { at, pattern, list }] of placed.entries())
    for (const earlier of placed.slice(0, index)) {
      if (earlier.list === list) {
        if (covers(earlier.pattern, pattern) || covers(pattern, earlier.pattern))
          at.report(`overlaps with ${formatPath(earlier.at.path)} of the same list`);
      } else if (covers(earlier.pattern, pattern)) {
        at.report(`has no effect: ${formatPath(earlier.at.path)} comes first and covers it`);
      }
    }
}
