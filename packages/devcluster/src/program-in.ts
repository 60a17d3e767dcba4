import path from 'node:path';

const { dirname, filename } = import.meta;

export interface NodeProgram {
  readonly options: readonly string[];
  readonly file: string;
}

/** How Node starts the program of a room: as it is written where we were started so, else as it was built. */
export function findProgram(packageName: 'devcluster' | 'server'): NodeProgram {
  const file = (...names: string[]): string => path.resolve(dirname, '..', '..', packageName, ...names);
  return filename.endsWith('.ts')
    ? { options: ['--conditions=source'], file: file('src', 'main.ts') }
    : { options: [], file: file('dist', 'main.js') };
}
