export {
  collectGarbage,
  type GarbageCollectorEvent,
  type GarbageCollectorOptions,
} from './garbage-collector/garbage-collector.ts';
