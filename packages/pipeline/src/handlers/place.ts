import { invariant } from '@cluster-apiserver/base';
import type { Admission } from '@cluster-apiserver/gates';
import type { Asked } from '@cluster-apiserver/registry';
import type { Authenticated, Understood } from '../facts.ts';

/** Where the object of a route is that names one. */
export function placeOf(facts: Understood): { namespace: string | undefined; name: string } {
  const name = facts.info.resource?.name;
  invariant(name !== undefined, 'a handler of one object was reached without its name');
  return { namespace: namespaceOf(facts), name };
}

/** Undefined for what lies in none. */
export const namespaceOf = ({ info: { resource } }: Understood): string | undefined =>
  resource?.inNamespace ? resource.namespace : undefined;

/** Who asks for a write. */
export const askedBy = ({ user, info, call }: Authenticated, admission: Admission): Asked => ({
  admission,
  user,
  subresource: info.resource?.subresource,
  call,
});
