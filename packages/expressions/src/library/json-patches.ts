import { fn, type Overload } from './overload.ts';

export const jsonPatches: readonly Overload[] = [
  fn('jsonpatch.escapeKey(string) -> string', (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')),
];
