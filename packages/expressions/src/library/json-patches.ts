import { defineFunction, type Overload } from './overload.ts';

export const jsonPatches: readonly Overload[] = [
  defineFunction('jsonpatch.escapeKey(string) -> string', (key: string) =>
    key.replaceAll('~', '~0').replaceAll('/', '~1'),
  ),
];
