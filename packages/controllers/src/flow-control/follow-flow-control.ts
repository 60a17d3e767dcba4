/** The FlowSchemas and PriorityLevelConfigurations in the watch cache, for a server that limits its requests by them. */
import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { FlowSchema, PriorityLevelConfiguration } from '@cluster-apiserver/kinds';
import type { LiveApi, Resource } from '@cluster-apiserver/registry';
import { followAll, isLoaded, itemsWithin, readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { flowControlResources } from './keep-flow-control.ts';

export interface FlowControlFollower {
  readonly clock: Clock;
  /** Called with all objects when they have been loaded, and after each change. */
  readonly apply: (schemas: readonly FlowSchema[], levels: readonly PriorityLevelConfiguration[]) => SyncTask<void>;
  /** `apply` threw. The next change calls it again. */
  readonly failed: (error: unknown) => void;
}

/** Follows them until the returned function is called; undefined where they are not served. */
export function followFlowControl(
  api: LiveApi,
  { clock, apply, failed }: FlowControlFollower,
): (() => void) | undefined {
  const { schemas, levels } = flowControlResources(api) ?? {};
  if (!schemas || !levels) return undefined;
  let isDue = false;
  let applying: Promise<void> = Promise.resolve();
  const applyNow = async (): Promise<void> => {
    isDue = false;
    if (!isLoaded([schemas, levels])) return;
    await runTask(
      clock,
      undefined,
      apply(
        objectsIn(schemas).map((object) => requireKind(object, 'FlowSchema')),
        objectsIn(levels).map((object) => requireKind(object, 'PriorityLevelConfiguration')),
      ),
    );
  };
  // Many changes of one turn are one, and one is applied after the other.
  const request = (): void => {
    if (isDue) return;
    isDue = true;
    clock.soon(() => {
      applying = applying.then(applyNow).catch(failed);
    });
  };
  request();
  return followAll([schemas, levels], { changed: request, interrupted: request, failed });
}

const objectsIn = ({ collection }: Resource) =>
  Array.from(itemsWithin(collection.view(), ''), readable).flatMap((stored) => stored?.object ?? []);
