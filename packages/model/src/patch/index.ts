export { PatchFailedError, PatchFormError, PatchTestFailedError, TooManyOperationsError } from './errors.ts';
export { type JsonPatch, applyJsonPatch, jsonPatchBounds, readJsonPatch } from './json-patch.ts';
export { applyMergePatch } from './merge-patch.ts';
export { applyStrategicMergePatch } from './strategic-merge-patch.ts';
