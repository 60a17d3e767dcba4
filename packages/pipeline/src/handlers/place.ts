import { invariant } from '@cluster-apiserver/base';
import type { Understood } from '../facts.ts';

/** Namespace and name of a route that has both. */
export function placeOf({ info: { resource } }: Understood): { namespace: string; name: string } {
  invariant(
    resource?.namespace !== undefined && resource.name !== undefined,
    'a handler of one object was reached without its name',
  );
  return { namespace: resource.namespace, name: resource.name };
}

export function namespaceOf({ info: { resource } }: Understood): string {
  invariant(resource?.namespace !== undefined, 'a handler inside a namespace was reached without one');
  return resource.namespace;
}
