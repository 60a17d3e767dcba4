export { assemble, type Server } from './assemble.ts';
export { storageCommand } from './storage-command/storage-command.ts';
export { flagHelp, parseFlags } from './flags.ts';
export type { Surroundings } from './surroundings.ts';
export { drainMs } from './wiring/listener.ts';
