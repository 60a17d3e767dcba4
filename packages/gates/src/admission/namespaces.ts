import type { Call } from '@cluster-apiserver/base';
import { forbiddenName, notFound, StatusError } from '@cluster-apiserver/model';
import type { AdmissionPlugin, Attempt, Premise } from './admission.ts';

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
  readonly premise: Premise;
}

/** An object needs a namespace that exists and is not on its way out; the namespaces of the system stay. */
export const namespaceLifecycle = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceLifecycle',
  // Before the rules of the kind, as the reference does: of a namespace that is not there nothing else is told.
  mutate: (attempt) => {
    const found = living(namespaces, attempt);
    return found instanceof Promise ? found.then(() => attempt.object) : attempt.object;
  },
  validate: (attempt) => {
    requireNotImmortal(attempt);
    return living(namespaces, attempt);
  },
});

/** An object brings its namespace along; only while that is on its way out, it gets no new ones. */
export const namespaceAutoProvision = (namespaces: Namespaces): AdmissionPlugin => ({
  name: 'NamespaceAutoProvision',
  // Behind the rules of the kind: what is refused by them leaves no namespace behind.
  validate: (attempt) => {
    requireNotImmortal(attempt);
    const { namespace } = attempt;
    if (namespace === undefined || attempt.operation !== 'CREATE') return undefined;
    const known = namespaces.known(namespace);
    return known && !known.terminating ? known.premise : provided(namespaces, namespace, attempt);
  },
});

/** The premise of a creation: that its namespace is there and stays. */
function living(namespaces: Namespaces, attempt: Attempt): Premise | undefined | Promise<Premise> {
  const { namespace, operation } = attempt;
  if (namespace === undefined || operation !== 'CREATE') return undefined;
  const known = namespaces.known(namespace);
  if (known && !known.terminating) return known.premise;
  // Here it may be old news; a refusal only counts for what is there now.
  return namespaces.refresh(attempt.call).then(() => {
    const now = namespaces.known(namespace);
    if (!now) throw notFound(ofNamespaces, namespace);
    return premiseOf(now, namespace, attempt);
  });
}

/** Others may delete what was just made; who does so again and again is not outrun. */
const makesMax = 4;

async function provided(namespaces: Namespaces, namespace: string, attempt: Attempt): Promise<Premise | undefined> {
  // That it is on its way out may be old news, too.
  if (namespaces.known(namespace)) await namespaces.refresh(attempt.call);
  for (let makes = 0; ; makes++) {
    const now = namespaces.known(namespace);
    if (now) return premiseOf(now, namespace, attempt);
    if (attempt.dryRun) return undefined;
    if (makes === makesMax)
      throw new StatusError('ServiceUnavailable', `the namespace ${namespace} disappears as soon as it is made`, {
        retryAfterSeconds: 1,
      });
    await namespaces.make(namespace, attempt.call);
  }
}

function premiseOf({ terminating, premise }: KnownNamespace, namespace: string, attempt: Attempt): Premise {
  if (!terminating) return premise;
  throw forbiddenName(
    attempt.kind,
    attempt.name,
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

/** What a cluster is looked for in by everybody. */
const immortal: ReadonlySet<string | undefined> = new Set(['default', 'kube-system', 'kube-public']);

function requireNotImmortal({ operation, kind, name }: Attempt): void {
  if (operation === 'DELETE' && kind.plural === 'namespaces' && kind.group === '' && immortal.has(name))
    throw forbiddenName(kind, name, 'this namespace may not be deleted');
}
