import { PathPatternError, compilePathPatterns } from '@cluster-apiserver/gates';
import { FlagError, type ServerFlags } from '../flags/flags.ts';

export function compileAlwaysAllowedPaths(flags: ServerFlags): (path: string) => boolean {
  try {
    return compilePathPatterns(flags['authorization-always-allow-paths']);
  } catch (error) {
    if (error instanceof PathPatternError)
      throw new FlagError([`--authorization-always-allow-paths: ${error.message}`]);
    throw error;
  }
}
