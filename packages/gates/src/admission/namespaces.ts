import type { Call } from '@cluster-apiserver/base';
import { forbiddenName, notFound, StatusError } from '@cluster-apiserver/model';
import type { AdmissionPlugin, AdmissionContext, Precondition } from './admission.ts';

/** The namespaces of the server, as admission needs them. */
export interface Namespaces {
  /** As far as is known here, at once. */
  known(name: string): KnownNamespace | undefined;
  /** Resolves when everything is known that was written before. */
  refresh(call: Call): Promise<void>;
  /** Makes one, unless there is one by now; afterwards it is known. */
  make(name: string, call: Call): Promise<void>;
}

export interface KnownNamespace {
  readonly terminating: boolean;
  /** Holds for as long as the namespace is what it is now. */
  readonly precondition: Precondition;
}

/** An object needs a namespace that exists and is not on its way out; the namespaces of the system stay. */
export const namespaceLifecycle = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceLifecycle',
  // Before the rules of the kind, as the reference does: of a namespace that is not there nothing else is told.
  mutate: (context) => {
    const found = living(namespaces, context);
    return found instanceof Promise ? found.then(() => context.object) : context.object;
  },
  validate: (context) => {
    requireNotImmortal(context);
    return living(namespaces, context);
  },
});

/** An object brings its namespace along; only while that is on its way out, it gets no new ones. */
export const namespaceAutoProvision = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceAutoProvision',
  // Behind the rules of the kind: what is refused by them leaves no namespace behind.
  validate: (context) => {
    requireNotImmortal(context);
    const { namespace } = context;
    if (namespace === undefined || !createsContent(context)) return undefined;
    const known = namespaces.known(namespace);
    if (!known && context.subresource !== undefined) return undefined;
    return known && !known.terminating ? known.precondition : provided(namespaces, namespace, context);
  },
});

/**
 * An access review only asks, and its answer must not tell which namespaces there are. What is created behind an object
 * needs no namespace for itself: without one there is no such object, which has an answer of its own.
 */
const createsContent = ({ operation, resource }: AdmissionContext): boolean =>
  operation === 'CREATE' && !(resource.plural === 'localsubjectaccessreviews' && resource.group === reviewGroup);

const reviewGroup = 'authorization.k8s.io';

/** The precondition of a creation: that its namespace is there and stays. */
function living(namespaces: Namespaces, context: AdmissionContext): Precondition | undefined | Promise<Precondition> {
  const { namespace } = context;
  if (namespace === undefined || !createsContent(context)) return undefined;
  const known = namespaces.known(namespace);
  if (!known && context.subresource !== undefined) return undefined;
  if (known && !known.terminating) return known.precondition;
  // Here it may be old news; a refusal only counts for what is there now.
  return namespaces.refresh(context.call).then(() => {
    const now = namespaces.known(namespace);
    if (!now) throw namespaceNotFound(namespace);
    return preconditionOf(now, namespace, context);
  });
}

/** Others may delete what was just made; who does so again and again is not outrun. */
const makesMax = 4;

async function provided(
  namespaces: Namespaces,
  namespace: string,
  context: AdmissionContext,
): Promise<Precondition | undefined> {
  // That it is on its way out may be old news, too.
  if (namespaces.known(namespace)) await namespaces.refresh(context.call);
  for (let makes = 0; ; makes++) {
    const now = namespaces.known(namespace);
    if (now) return preconditionOf(now, namespace, context);
    if (context.dryRun || context.subresource !== undefined) return undefined;
    if (makes === makesMax)
      throw new StatusError('ServiceUnavailable', `the namespace ${namespace} disappears as soon as it is made`, {
        retryAfterSeconds: 1,
      });
    await namespaces.make(namespace, context.call);
  }
}

function preconditionOf(
  { terminating, precondition }: KnownNamespace,
  namespace: string,
  context: AdmissionContext,
): Precondition {
  if (!terminating) return precondition;
  throw forbiddenName(
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

const ofNamespaces = { group: '', kind: 'Namespace', plural: 'namespaces' };

export const namespaceNotFound = (name: string): StatusError => notFound(ofNamespaces, name);

/** What a cluster is looked for in by everybody. */
const immortal: ReadonlySet<string | undefined> = new Set(['default', 'kube-system', 'kube-public']);

function requireNotImmortal({ operation, resource, name }: AdmissionContext): void {
  if (operation === 'DELETE' && resource.plural === 'namespaces' && resource.group === '' && immortal.has(name))
    throw forbiddenName(resource, name, 'this namespace may not be deleted');
}
