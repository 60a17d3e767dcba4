import { increment, sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';

/** Sets metadata.generation: 1 on a create, and one more with each change of this field. */
export const countingChangesOf =
  (field: string) =>
  <T extends KubeObject>(object: T, current: T | undefined): T => {
    const before = current?.metadata.generation ?? 0;
    const changed = !current || !sameJson(current[field], object[field]);
    return { ...object, metadata: { ...object.metadata, generation: changed ? increment(before) : before } };
  };
