import { chain, type Clock, runTask } from '@cluster-apiserver/base';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { ApplicableSources } from './applicable-sources.ts';
import { CandidateIndex } from './candidate-index.ts';
import type { ClusterState } from './cluster-state.ts';
import type { FollowedObjects } from './followed-objects.ts';
import type { Matcher } from './matching.ts';

/** The compiled policies, or webhooks, of one type. */
export interface Sources<One> {
  /** Which sources apply to writes of a resource. */
  readonly applicableSources: (resource: ServedKind) => ApplicableSources;
  /** The same list until the files change. */
  readonly fromFiles: () => readonly One[];
  /** The same list until an object changes. */
  readonly fromApi: Pick<FollowedObjects<readonly One[]>, 'current' | 'waitUntilCurrent' | 'close'>;
  readonly matcherOf: (one: One) => Matcher;
  readonly cluster: ClusterState;
  readonly clock: Clock;
}

/**
 * Runs `act` with the policies or webhooks that can match a write (see CandidateIndex) and with all that apply to its
 * resource, those from files first. Waits only for changes that are not compiled yet.
 */
export function withActive<One, T>(
  { applicableSources, fromFiles, fromApi, matcherOf, cluster, clock }: Sources<One>,
  act: (context: AdmissionContext, candidates: readonly One[], all: readonly One[]) => T | Promise<T>,
): (context: AdmissionContext) => T | Promise<T> {
  let both: { readonly files: readonly One[]; readonly api: readonly One[]; readonly all: readonly One[] } | undefined;
  const getActive = (source: ApplicableSources): readonly One[] => {
    if (source === 'nothing') return none;
    const files = fromFiles();
    if (source === 'files') return files;
    const api = fromApi.current;
    if (files.length === 0) return api;
    if (both?.files !== files || both.api !== api) both = { files, api, all: [...files, ...api] };
    return both.all;
  };
  const indexes = new WeakMap<readonly One[], CandidateIndex<One>>();
  const findCandidates = (context: AdmissionContext, all: readonly One[]): readonly One[] | Promise<readonly One[]> => {
    if (all.length === 0) return none;
    let index = indexes.get(all);
    if (!index) indexes.set(all, (index = new CandidateIndex(all, matcherOf)));
    return index.find(context) ?? runTask(clock, context.call, index.collect(context, cluster));
  };
  const actOn = (context: AdmissionContext, source: ApplicableSources): T | Promise<T> => {
    const all = getActive(source);
    return chain(findCandidates(context, all), (candidates) => act(context, candidates, all));
  };
  return (context) => {
    const source = applicableSources(context.resource);
    const settled = source === 'filesAndApi' ? fromApi.waitUntilCurrent(context.call) : undefined;
    return settled ? settled.then(() => actOn(context, source)) : actOn(context, source);
  };
}

const none: readonly never[] = [];
