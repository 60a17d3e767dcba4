export {
  collectGarbage,
  type GarbageCollectorEvent,
  type GarbageCollectorOptions,
} from './garbage-collector/garbage-collector.ts';
export type { ControllerMeasures } from './measures.ts';
export {
  drainNamespaces,
  type NamespaceControllerEvent,
  type NamespaceControllerOptions,
} from './namespaces/namespace-controller.ts';
