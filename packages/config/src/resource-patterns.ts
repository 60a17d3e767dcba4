import { formatPath } from '@cluster-apiserver/model';
import type { ConfigNode } from './config-node.ts';

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

/** Returns undefined and adds a problem for an invalid pattern. */
export function readPattern(node: ConfigNode): ResourcePattern | undefined {
  const text = node.string();
  if (text === undefined) {
    if (node.isAbsent) node.addProblem('name a resource');
    return undefined;
  }
  const problem = findPatternProblem(text);
  if (problem) {
    node.addProblem(problem);
    return undefined;
  }
  if (text === '*.*') return { resource: undefined, group: undefined };
  const dot = text.indexOf('.');
  const [resource, group] = dot < 0 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)];
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
  readonly node: ConfigNode;
  readonly pattern: ResourcePattern;
  readonly list: number;
}

/**
 * Reports overlapping patterns: within a list one of the two is superfluous, and in a later list a covered pattern has no
 * effect. A wildcard may follow the exceptions from it.
 */
export function reportOverlaps(placed: readonly PlacedPattern[]): void {
  for (const [at, { node, pattern, list }] of placed.entries())
    for (const earlier of placed.slice(0, at)) {
      if (earlier.list === list) {
        if (covers(earlier.pattern, pattern) || covers(pattern, earlier.pattern))
          node.addProblem(`overlaps with ${formatPath(earlier.node.path)} of the same list`);
      } else if (covers(earlier.pattern, pattern)) {
        node.addProblem(`has no effect: ${formatPath(earlier.node.path)} comes first and covers it`);
      }
    }
}
