import { formatTime, type KubeObject, notFound, partOf, StatusError } from '@cluster-apiserver/model';
import { contentFinalizer, type Namespace } from '@cluster-apiserver/kinds';
import { patch, type Resource } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { conditionsAfter } from './conditions.ts';
import type { Content } from './content.ts';

/** A name can be given again, a uid cannot: only both together mean one namespace. */
export interface LeavingNamespace {
  readonly name: string;
  readonly uid: string;
}

/** Who the writes are by, in managedFields. */
const manager = 'namespace-controller';

/** Says in the namespace what holds it. */
export const tellConditions = (
  namespaces: Resource,
  leaving: LeavingNamespace,
  content: Content,
  nowMs: number,
  call: Call,
): Promise<void> =>
  change(namespaces, leaving, 'status', call, ({ status, ...rest }) => ({
    ...rest,
    status: { ...status, conditions: conditionsAfter(status.conditions ?? [], content, formatTime(nowMs)) },
  }));

/** Lets go of an empty namespace, which then goes unless others hold it. */
export const finalize = (namespaces: Resource, leaving: LeavingNamespace, call: Call): Promise<void> =>
  change(namespaces, leaving, 'finalize', call, ({ spec, ...rest }) => ({
    ...rest,
    spec: { finalizers: (spec.finalizers ?? []).filter((finalizer) => finalizer !== contentFinalizer) },
  }));

async function change(
  namespaces: Resource,
  { name, uid }: LeavingNamespace,
  part: string,
  call: Call,
  changed: (namespace: Namespace) => object,
): Promise<void> {
  const ofThisOne = (namespace: KubeObject): object => {
    if (namespace.metadata.uid !== uid) throw notFound(namespaces.kind, name);
    return changed(namespace as Namespace); // decoded by the schema of its kind
  };
  const nobodyToTell = (): void => {};
  const options = {
    namespace: undefined,
    part: partOf(namespaces.kind, part),
    dryRun: false,
    manager,
    warn: nobodyToTell,
    unknownFields: nobodyToTell,
    change: ofThisOne,
  };
  try {
    await patch(namespaces, name, options, call);
  } catch (error) {
    // What is gone already is as it should be.
    if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
  }
}
