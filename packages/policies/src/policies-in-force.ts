import type { ServedKind } from '@cluster-apiserver/model';
import { isPolicy, isReview } from './exempt.ts';

/** The policies that a write of a resource has to obey: those from files first, then those of the API. */
export function policiesInForce<Policy>(
  fromFiles: () => readonly Policy[],
  fromApi: () => readonly Policy[],
): (resource: ServedKind) => readonly Policy[] {
  let [ofFiles, ofApi, both]: (readonly Policy[])[] = [none, none, none];
  return (resource) => {
    if (isReview(resource)) return none;
    const files = fromFiles();
    if (isPolicy(resource)) return files;
    const api = fromApi();
    if (files.length === 0) return api;
    if (files !== ofFiles || api !== ofApi) [ofFiles, ofApi, both] = [files, api, [...files, ...api]];
    return both as readonly Policy[];
  };
}

const none: readonly never[] = [];
