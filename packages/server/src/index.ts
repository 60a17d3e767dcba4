export { assemble, type Server } from './assemble.ts';
export { auditFiles } from './audit-files.ts';
export { storageCommand } from './storage-command/storage-command.ts';
export { configCommand } from './config-command/config-command.ts';
export { flagGroups, flagHelp, parseFlags } from './flags.ts';
export type { Environment } from './environment.ts';
export { drainMs } from './wiring/listener.ts';
