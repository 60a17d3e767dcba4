export { assemble, type Server } from './assemble.ts';
export { parseFlags } from './flags.ts';
export type { Surroundings } from './surroundings.ts';
