export { createAuditor } from './recorder.ts';
export {
  uniteBackends,
  type AuditBackend,
  type AuditMode,
  auditModes,
  type BackendMeasures,
  openBackend,
} from './backend.ts';
export type { LogFile, LogFiles } from './log-files.ts';
export { shownTarget } from './shown-target.ts';
export { createAuditMeasures } from './audit-measures.ts';
export { RotatingLog } from './rotating-log.ts';
export { createAuditWebhook } from './webhook.ts';
