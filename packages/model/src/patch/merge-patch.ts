import { setOwn } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';

/**
 * JSON merge patch (RFC 7386): objects are merged, null removes a member, any other value replaces it. As in kube-apiserver,
 * null is no member of the objects in a list either.
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return patch.map((entry: unknown) => applyMergePatch(undefined, entry));
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, unknown> = {};
  const before = isJsonObject(target) ? target : {};
  for (const [key, value] of Object.entries(before)) {
    const change = Object.hasOwn(patch, key) ? patch[key] : undefined;
    if (change === undefined) setOwn(merged, key, value);
    else if (change !== null) setOwn(merged, key, applyMergePatch(value, change));
  }
  for (const [key, value] of Object.entries(patch)) {
    if (!Object.hasOwn(before, key) && value !== null) setOwn(merged, key, applyMergePatch(undefined, value));
  }
  return merged;
}
