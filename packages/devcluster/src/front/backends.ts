/** The replicas, and whether they are ready. */
export interface Backends {
  /** All replicas in the order to try: ready ones in rotation, then the others. */
  order(): number[];
  /** Returns whether the state has changed. */
  setReady(port: number, ready: boolean): boolean;
}

/**
 * An unready replica is still tried if no ready one accepts: a draining one, or one without etcd, responds with an error that
 * clients understand, unlike a refused connection.
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
