export { askHealth, type HealthAnswer, type HealthCheck, type HealthQuestion } from './health.ts';
export { type Log, type LogFields, openLog } from './log.ts';
export { type Metrics, openMetrics } from './metrics.ts';
