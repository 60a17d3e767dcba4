export { assemble, type Server } from './assemble.ts';
export { storageCommand } from './storage-command/storage-command.ts';
export { configCommand } from './config-command/config-command.ts';
export { flagGroups, parseFlags } from './flags.ts';
export type { Surroundings } from './surroundings.ts';
