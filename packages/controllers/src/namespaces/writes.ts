import { inOneStep } from '@cluster-apiserver/base';
import { formatTime, type KubeObject, notFound, partOf, StatusError } from '@cluster-apiserver/model';
import { contentFinalizer, type Namespace } from '@cluster-apiserver/kinds';
import { patch, type Resource } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { conditionsAfter } from './conditions.ts';
import type { Content } from './content.ts';

/** A name can be given again, a uid cannot: only both together mean one namespace. */
export interface TerminatingNamespace {
  readonly name: string;
  readonly uid: string;
}

/** The writer, in managedFields. */
const manager = 'namespace-controller';

/** Writes into the status of the namespace what holds it. */
export const writeConditions = (
  namespaces: Resource,
  namespace: TerminatingNamespace,
  content: Content,
  nowMs: number,
  call: Call,
): Promise<void> =>
  change(namespaces, namespace, 'status', call, ({ status, ...rest }) => ({
    ...rest,
    status: { ...status, conditions: conditionsAfter(status.conditions ?? [], content, formatTime(nowMs)) },
  }));

/** Releases an empty namespace, which then goes unless others hold it. */
export const finalize = (namespaces: Resource, namespace: TerminatingNamespace, call: Call): Promise<void> =>
  change(namespaces, namespace, 'finalize', call, ({ spec, ...rest }) => ({
    ...rest,
    spec: { finalizers: (spec.finalizers ?? []).filter((finalizer) => finalizer !== contentFinalizer) },
  }));

async function change(
  namespaces: Resource,
  { name, uid }: TerminatingNamespace,
  part: string,
  call: Call,
  changed: (namespace: Namespace) => object,
): Promise<void> {
  const changeThisOne = (namespace: KubeObject): object => {
    if (namespace.metadata.uid !== uid) throw notFound(namespaces.kind, name);
    return changed(namespace as Namespace); // decoded by the schema of its kind
  };
  const options = {
    namespace: undefined,
    part: partOf(namespaces.kind, part),
    dryRun: false,
    manager,
    warn: ignore,
    unknownFields: ignore,
    change: inOneStep(changeThisOne),
  };
  try {
    await patch(namespaces, name, options, call);
  } catch (error) {
    // What is gone already is as it should be.
    if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
  }
}

/** Warnings are for clients, and there is none. */
const ignore = (): void => {};
