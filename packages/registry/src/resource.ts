import type { Clock, Random } from '@cluster-apiserver/base';
import { badRequest, type Kind, pathSegment } from '@cluster-apiserver/model';
import type { Store } from '@cluster-apiserver/storage';

/** A kind with what its verbs need of the world. */
export interface Resource {
  readonly kind: Kind;
  readonly store: Store;
  /** Where the keys of all kinds begin, such as /registry. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** Everything of a kind, or of a kind in one namespace. Every key below it begins with this and a client cannot leave it. */
export function collectionPrefix({ kind, keyPrefix }: Resource, namespace?: string): string {
  // Two groups may have a resource of the same name; those of the core group are known by it alone.
  const all = `${keyPrefix}/${kind.group ? `${kind.plural}.${kind.group}` : kind.plural}/`;
  return namespace === undefined ? all : `${all}${segment('Namespace', namespace)}/`;
}

export const objectKey = (resource: Resource, namespace: string, name: string): string =>
  `${collectionPrefix(resource, namespace)}${segment('Name', name)}`;

function segment(what: string, text: string): string {
  const problems = text === '' ? ['must not be empty'] : pathSegment(text);
  if (problems.length > 0)
    throw badRequest(`${what} parameter invalid: ${JSON.stringify(text)}: ${problems.join('; ')}`);
  return text;
}
