import { ApiSnapshot } from '../src/api-snapshot.ts';
import type { LiveApi, Resource } from '../src/index.ts';

/** What is served never changes. */
export const fixedApi = (resources: readonly Resource[]): LiveApi => ({
  current: new ApiSnapshot(resources),
  onChange: () => () => {},
});
