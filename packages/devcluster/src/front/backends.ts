/** The replicas as the front sees them: who is asked next, and who is left out for now. */
export interface Backends {
  /** Everybody once, in the order to try: those that are ready take turns, the others come last. */
  order(): number[];
  /** True when this is news. */
  setReady(port: number, ready: boolean): boolean;
}

/**
 * A replica that is not ready is still tried when nobody better is there: one that drains, or that has lost its
 * store, gives its clients an answer they understand, and a refused connection gives them none.
 */
export function createBackends(ports: readonly number[]): Backends {
  const ready = new Set<number>();
  let turn = 0;
  return {
    order: () => {
      turn = (turn + 1) % ports.length;
      const rotated = [...ports.slice(turn), ...ports.slice(0, turn)];
      return [...rotated.filter((port) => ready.has(port)), ...rotated.filter((port) => !ready.has(port))];
    },
    setReady: (port, now) => {
      if (ready.has(port) === now) return false;
      if (now) ready.add(port);
      else ready.delete(port);
      return true;
    },
  };
}
