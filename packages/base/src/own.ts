/**
 * Sets a key that came from outside. `target[key] = value` would change the prototype when the key is `__proto__`;
 * to us every key is plain data.
 */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

/** Reads a key that came from outside, never anything inherited. */
export function getOwn<T>(target: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined;
}
