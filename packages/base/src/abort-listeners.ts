/**
 * Calls back once, when the signal aborts, or at once if it has aborted: Node never calls a listener that is added later.
 * The returned function cancels that. The callback must not throw, since Node would end the process.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  // A new function: Node adds the same listener only once.
  const listener = (): void => callback();
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

const listenersOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * The same for a signal that thousands of requests share. Node compares each new listener with all others, so that 10,000
 * of them would take 180 ms to add and as much to remove.
 */
export function onSharedAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) return onAbort(signal, callback);
  const listener = (): void => callback();
  const listeners = listenersOf.get(signal) ?? register(signal);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function register(signal: AbortSignal): Set<() => void> {
  const listeners = new Set<() => void>();
  listenersOf.set(signal, listeners);
  onAbort(signal, () => {
    for (const listener of listeners) {
      listeners.delete(listener);
      listener();
    }
  });
  return listeners;
}
