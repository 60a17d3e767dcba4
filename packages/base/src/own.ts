/** Sets a key that a client chose. `target[key] = value` would change the prototype if the key is `__proto__`. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

/** The keys of an object that has no others than its type names, as a constant that is declared with all of them. */
export const ownKeys = <T extends object>(target: T): (keyof T & string)[] =>
  Object.keys(target).filter((key): key is keyof T & string => Object.hasOwn(target, key));

/** Reads a key that a client chose, and never an inherited property. */
export function getOwn<T>(target: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined;
}
