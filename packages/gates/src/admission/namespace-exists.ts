import type { AdmissionContext, AdmissionPlugin } from './admission.ts';
import { type Namespaces, namespaceNotFound } from './namespaces.ts';

/** Every write needs an existing namespace, access reviews and deletions included. */
export const createNamespaceExists = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceExists',
  validate: (context) => {
    const { namespace, resource, operation, call } = context;
    if (namespace === undefined || (resource.plural === 'namespaces' && resource.group === '')) return undefined;
    const known = namespaces.find(namespace);
    if (known) return operation === 'CREATE' ? known.precondition : undefined;
    // The watch cache may be stale: reject only after a refresh.
    return namespaces.refresh(call).then(() => requireNamespace(namespaces, namespace, context));
  },
});

function requireNamespace(namespaces: Namespaces, namespace: string, { operation }: AdmissionContext) {
  const known = namespaces.find(namespace);
  if (!known) throw namespaceNotFound(namespace);
  return operation === 'CREATE' ? known.precondition : undefined;
}
