/**
 * Listeners of a signal that thousands of requests share. Node compares each new listener with all others, so that 10,000
 * of them would take 180 ms to add and as much to remove.
 */
const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls back when the signal aborts, once. The returned function cancels that. The callback must not throw. */
export function listenForAbort(signal: AbortSignal, callback: () => void): () => void {
  const listener = (): void => callback();
  const listeners = listenersOf.get(signal) ?? register(signal);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function register(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  listenersOf.set(signal, listeners);
  signal.addEventListener(
    'abort',
    () => {
      for (const listener of listeners) {
        listeners.delete(listener);
        listener();
      }
    },
    { once: true },
  );
  return listeners;
}
