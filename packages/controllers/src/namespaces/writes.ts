import { formatTime } from '@cluster-apiserver/model';
import { contentFinalizer, type Namespace } from '@cluster-apiserver/kinds';
import type { Resource } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { changeObject, type ObjectIdentity } from '../change-object.ts';
import { conditionsAfter } from './conditions.ts';
import type { Content } from './content.ts';

/** The writer, in managedFields. */
const manager = 'namespace-controller';

/** Writes conditions about the remaining content into the status of the namespace. */
export function writeConditions(
  namespaces: Resource,
  namespace: ObjectIdentity,
  content: Content,
  nowMs: number,
  call: Call,
): Promise<void> {
  const change = (current: object): object => {
    const { status, ...rest } = current as Namespace; // decoded by the schema of its kind
    const conditions = conditionsAfter(status.conditions ?? [], content, formatTime(nowMs));
    return { ...rest, status: { ...status, conditions } };
  };
  return changeObject(namespaces, namespace, { manager, part: 'status', change }, call);
}

/** Removes the finalizer from an empty namespace, which is then removed unless it has others. */
export function finalize(namespaces: Resource, namespace: ObjectIdentity, call: Call): Promise<void> {
  const change = (current: object): object => {
    const { spec, ...rest } = current as Namespace; // as above
    return { ...rest, spec: { finalizers: (spec.finalizers ?? []).filter((one) => one !== contentFinalizer) } };
  };
  return changeObject(namespaces, namespace, { manager, part: 'finalize', change }, call);
}
