import type { AdmissionContext, AdmissionPlugin } from './admission.ts';
import { type Namespaces, namespaceNotFound } from './namespaces.ts';

/** A write needs the namespace of its path, an access review and a deletion, too. */
export const namespaceExists = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceExists',
  validate: (context) => {
    const { namespace, resource, operation, call } = context;
    if (namespace === undefined || (resource.plural === 'namespaces' && resource.group === '')) return undefined;
    const known = namespaces.known(namespace);
    if (known) return operation === 'CREATE' ? known.precondition : undefined;
    // Here it may be old news; a refusal only counts for what is there now.
    return namespaces.refresh(call).then(() => preconditionOf(namespaces, namespace, context));
  },
});

function preconditionOf(namespaces: Namespaces, namespace: string, { operation }: AdmissionContext) {
  const known = namespaces.known(namespace);
  if (!known) throw namespaceNotFound(namespace);
  return operation === 'CREATE' ? known.precondition : undefined;
}
