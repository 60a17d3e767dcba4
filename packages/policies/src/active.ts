import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { ServedKind } from '@cluster-apiserver/model';
import type { ApplicableSources } from './applicable-sources.ts';
import type { FollowedObjects } from './followed-objects.ts';

/** The compiled policies, or webhooks, of one type. */
export interface Sources<One> {
  /** Which sources apply to writes of a resource. */
  readonly applicableSources: (resource: ServedKind) => ApplicableSources;
  /** The same list until the files change. */
  readonly fromFiles: () => readonly One[];
  readonly fromApi: FollowedObjects<readonly One[]>;
}

/**
 * Runs `act` with the policies or webhooks that apply to a write, those from files first. Waits only for changes that are
 * not compiled yet.
 */
export function withActive<One, T>(
  { applicableSources, fromFiles, fromApi }: Sources<One>,
  act: (context: AdmissionContext, inForce: readonly One[]) => T | Promise<T>,
): (context: AdmissionContext) => T | Promise<T> {
  let [ofFiles, ofApi, both]: (readonly One[])[] = [none, none, none];
  const getActive = (source: ApplicableSources): readonly One[] => {
    if (source === 'nothing') return none;
    const files = fromFiles();
    if (source === 'files') return files;
    const api = fromApi.current;
    if (files.length === 0) return api;
    if (files !== ofFiles || api !== ofApi) [ofFiles, ofApi, both] = [files, api, [...files, ...api]];
    return both as readonly One[];
  };
  return (context) => {
    const source = applicableSources(context.resource);
    const settled = source === 'filesAndApi' ? fromApi.waitUntilCurrent(context.call) : undefined;
    return settled ? settled.then(() => act(context, getActive(source))) : act(context, getActive(source));
  };
}

const none: readonly never[] = [];
