import { type Call, chain } from '@cluster-apiserver/base';
import { forbiddenResource, notFound, StatusError } from '@cluster-apiserver/model';
import { serverUser } from '../server-user.ts';
import type { AdmissionPlugin, AdmissionContext, Precondition } from './admission.ts';

/** The namespaces of the server, as admission needs them. */
export interface Namespaces {
  /** Reads the watch cache. */
  find(name: string): NamespaceState | undefined;
  /** Resolves when the watch cache has caught up with all earlier writes. */
  refresh(call: Call): Promise<void>;
  /** Creates a namespace if it does not exist. Resolves when `find` finds it. */
  create(name: string, call: Call): Promise<void>;
}

export interface NamespaceState {
  readonly terminating: boolean;
  /** Holds until the namespace changes. */
  readonly precondition: Precondition;
}

/** A new object needs a namespace that exists and is not terminating; the system namespaces cannot be deleted. */
export const createNamespaceLifecycle = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceLifecycle',
  // As in kube-apiserver, a missing namespace is reported before validation errors of the object.
  mutate: (context) => chain(requireActiveNamespace(namespaces, context), () => context.object),
  validate: (context) => {
    requireDeletable(context);
    return requireActiveNamespace(namespaces, context);
  },
});

/** A new object auto-provisions its namespace, unless that is terminating. */
export const createNamespaceAutoProvision = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceAutoProvision',
  // Runs after validation and after all other plugins: a rejected object must not create a namespace.
  validate: (context) => {
    requireDeletable(context);
    const namespace = getRequiredNamespace(namespaces, context);
    if (namespace === undefined) return undefined;
    const known = namespaces.find(namespace);
    return known && !known.terminating ? known.precondition : provisionNamespace(namespaces, namespace, context);
  },
});

/** The namespace that a creation needs. An access review creates nothing, and must not reveal which namespaces exist. */
function getRequiredNamespace(
  namespaces: Namespaces,
  { operation, resource, subresource, namespace }: AdmissionContext,
): string | undefined {
  const isReview = resource.plural === 'localsubjectaccessreviews' && resource.group === reviewGroup;
  if (namespace === undefined || operation !== 'CREATE' || isReview) return undefined;
  // Without the namespace the object of a subresource does not exist either: the response is NotFound for that object.
  return subresource !== undefined && !namespaces.find(namespace) ? undefined : namespace;
}

const reviewGroup = 'authorization.k8s.io';

/** The precondition of a creation: that its namespace exists and is not terminating. */
function requireActiveNamespace(
  namespaces: Namespaces,
  context: AdmissionContext,
): Precondition | undefined | Promise<Precondition> {
  const namespace = getRequiredNamespace(namespaces, context);
  if (namespace === undefined) return undefined;
  const known = namespaces.find(namespace);
  if (known && !known.terminating) return known.precondition;
  // The watch cache may be stale: reject only after a refresh.
  return namespaces.refresh(context.call).then(() => {
    const now = namespaces.find(namespace);
    if (!now) throw namespaceNotFound(namespace);
    return requireNotTerminating(now, namespace, context);
  });
}

/** A concurrent client may delete the created namespace again and again. */
const creationsMax = 4;

async function provisionNamespace(
  namespaces: Namespaces,
  namespace: string,
  context: AdmissionContext,
): Promise<Precondition | undefined> {
  // The watch cache may be stale: the terminating namespace may be gone.
  if (namespaces.find(namespace)) await namespaces.refresh(context.call);
  for (let creations = 0; ; creations++) {
    const now = namespaces.find(namespace);
    if (now) return requireNotTerminating(now, namespace, context);
    if (context.dryRun || context.subresource !== undefined) return undefined;
    // A controller has seen the namespace: since then it was deleted, and must not come back.
    if (context.user === serverUser) throw namespaceNotFound(namespace);
    if (creations === creationsMax)
      throw new StatusError('ServiceUnavailable', `the namespace ${namespace} is deleted as soon as it is created`, {
        retryAfterSeconds: 1,
      });
    await namespaces.create(namespace, context.call);
  }
}

function requireNotTerminating(
  { terminating, precondition }: NamespaceState,
  namespace: string,
  context: AdmissionContext,
): Precondition {
  if (!terminating) return precondition;
  throw forbiddenResource(
    context.resource,
    context.name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}

const namespaceNames = { group: '', kind: 'Namespace', plural: 'namespaces' };

export const namespaceNotFound = (name: string): StatusError => notFound(namespaceNames, name);

/** The namespaces that every cluster has. */
const undeletable: ReadonlySet<string | undefined> = new Set(['default', 'kube-system', 'kube-public']);

function requireDeletable({ operation, resource, name }: AdmissionContext): void {
  if (operation === 'DELETE' && resource.plural === 'namespaces' && resource.group === '' && undeletable.has(name))
    throw forbiddenResource(resource, name, 'this namespace may not be deleted');
}
