import type { ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';

/** Handles a non-resource path. `parameters` are the placeholders of its pattern, `paths` lists all registered patterns. */
export type NonResourceHandler = (
  context: AuthenticatedContext,
  parameters: Readonly<Record<string, string>>,
  paths: () => readonly string[],
) => ApiResponse | Promise<ApiResponse>;

/** Paths that appear and go with what is served. */
export interface LiveRoutes {
  readonly paths: () => Iterable<string>;
  readonly find: (path: string) => NonResourceHandler | undefined;
}

/** Derives routes from a state again whenever that is another object. */
export function liveRoutes<State extends object>(
  current: () => State,
  routesOf: (state: State) => Iterable<readonly [path: string, handler: NonResourceHandler]>,
): LiveRoutes {
  let state: State | undefined;
  let routes: ReadonlyMap<string, NonResourceHandler> = new Map();
  const refreshed = (): ReadonlyMap<string, NonResourceHandler> => {
    const now = current();
    if (now !== state) routes = new Map(routesOf(now));
    state = now;
    return routes;
  };
  return { paths: () => refreshed().keys(), find: (path) => refreshed().get(path) };
}

/** Makes a value at its first use, and keeps it as long as the object that it is of. A promise that fails is made again. */
export function madeOnce<Of extends object, Value>(make: (of: Of) => Value): (of: Of) => Value {
  const made = new WeakMap<Of, Value>();
  return (of) => {
    const known = made.get(of);
    if (known !== undefined) return known;
    const value = make(of);
    made.set(of, value);
    if (value instanceof Promise) value.catch(() => made.delete(of));
    return value;
  };
}
