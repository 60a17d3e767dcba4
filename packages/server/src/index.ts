export { assemble, type Server } from './assemble.ts';
export { auditFiles } from './audit/audit-files.ts';
export { storageCommand } from './commands/storage/storage-command.ts';
export { configCommand } from './commands/config/config-command.ts';
export { flagGroups, flagHelp, parseFlags } from './flags/flags.ts';
export type { Environment } from './environment.ts';
export { drainMs } from './serving/listener.ts';
