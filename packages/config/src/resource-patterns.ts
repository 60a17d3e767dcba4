import type { Written } from './written.ts';

/** Resources as a list names them: one, all of a group, or all. The core group is the empty one. */
export interface ResourcePattern {
  /** Undefined for all of the group. */
  readonly resource: string | undefined;
  /** Undefined for all groups, and then all resources are meant. */
  readonly group: string | undefined;
}

export const matches = (pattern: ResourcePattern, resource: string, group: string): boolean =>
  (pattern.group === undefined || pattern.group === group) &&
  (pattern.resource === undefined || pattern.resource === resource);

/** Whether everything that the other one names is named by this one too. */
const covers = (pattern: ResourcePattern, other: ResourcePattern): boolean =>
  (pattern.group === undefined || pattern.group === other.group) &&
  (pattern.resource === undefined || pattern.resource === other.resource);

/** Undefined, and a fault, for what names no resources. */
export function readPattern(written: Written): ResourcePattern | undefined {
  const text = written.text();
  if (text === undefined) {
    if (written.absent) written.wrong('name a resource');
    return undefined;
  }
  const problem = problemOf(text);
  if (problem) {
    written.wrong(problem);
    return undefined;
  }
  if (text === '*.*') return { resource: undefined, group: undefined };
  const dot = text.indexOf('.');
  const [resource, group] = dot < 0 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)];
  return { resource: resource === '*' ? undefined : resource, group };
}

const form = /^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)(\.([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?)?$/;

function problemOf(text: string): string | undefined {
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
  readonly written: Written;
  readonly pattern: ResourcePattern;
  readonly list: number;
}

/**
 * Whatever is named twice: within a list one of the two is superfluous, and a later list would have no effect. A
 * wildcard may stand behind what it should not touch.
 */
export function refuseMasked(placed: readonly PlacedPattern[]): void {
  for (const [at, { written, pattern, list }] of placed.entries())
    for (const earlier of placed.slice(0, at)) {
      if (earlier.list === list) {
        if (covers(earlier.pattern, pattern) || covers(pattern, earlier.pattern))
          written.wrong(`overlaps with ${earlier.written.path} of the same list`);
      } else if (covers(earlier.pattern, pattern)) {
        written.wrong(`has no effect: ${earlier.written.path} comes first and covers it`);
      }
    }
}
