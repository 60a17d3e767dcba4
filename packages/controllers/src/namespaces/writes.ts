import { formatTime } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { contentFinalizer } from '@cluster-apiserver/kinds';
import type { Resource } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { changeObject, type ObjectIdentity } from '../change-object.ts';
import { requireKind } from '../object-of-kind.ts';
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
  const change = (current: KubeObject): object => {
    const { status, ...rest } = requireKind(current, 'Namespace');
    const conditions = conditionsAfter(status.conditions ?? [], content, formatTime(nowMs));
    return { ...rest, status: { ...status, conditions } };
  };
  return changeObject(namespaces, namespace, { manager, subresource: 'status', change }, call);
}

/** Removes the finalizer from an empty namespace, which is then removed unless it has others. */
export function finalize(namespaces: Resource, namespace: ObjectIdentity, call: Call): Promise<void> {
  const change = (current: KubeObject): object => {
    const { spec, ...rest } = requireKind(current, 'Namespace');
    return { ...rest, spec: { finalizers: (spec.finalizers ?? []).filter((one) => one !== contentFinalizer) } };
  };
  return changeObject(namespaces, namespace, { manager, subresource: 'finalize', change }, call);
}
