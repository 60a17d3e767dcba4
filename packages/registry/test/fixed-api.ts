import { type LiveApi, type Resource, ServedApi } from '../src/index.ts';

/** What is served never changes. `resources`: the stored version of a kind before its others. */
export const fixedApi = (resources: readonly Resource[]): LiveApi =>
  new ServedApi(
    Map.groupBy(resources, ({ stored }) => stored)
      .values()
      .toArray(),
    {
      open: (kind) => Promise.reject(new Error(`${kind.plural} were not to come`)),
      renew: () => Promise.resolve(undefined),
      close: () => {},
    },
  );
