/** Sets a key that a client chose. `target[key] = value` would change the prototype if the key is `__proto__`. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

/** Reads a key that a client chose, and never an inherited property. */
export function getOwn<T>(target: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined;
}
