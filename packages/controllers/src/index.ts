export {
  collectGarbage,
  type GarbageCollectorEvent,
  type GarbageCollectorOptions,
} from './garbage-collector/garbage-collector.ts';
export {
  emptyNamespaces,
  type NamespaceControllerEvent,
  type NamespaceControllerOptions,
} from './namespaces/empty-namespaces.ts';
