import path from 'node:path';

const { dirname, filename } = import.meta;

export interface NodeProgram {
  readonly options: readonly string[];
  readonly file: string;
}

/** How to start the program of a package: from source if this process runs from source, else from the build. */
export function findProgram(packageName: 'devcluster' | 'server'): NodeProgram {
  const file = (...names: string[]): string => path.resolve(dirname, '..', '..', packageName, ...names);
  return filename.endsWith('.ts')
    ? { options: ['--conditions=source'], file: file('src', 'main.ts') }
    : { options: [], file: file('dist', 'main.js') };
}
