export { type Applied, readApplied, readAppliedInSteps } from './applied.ts';
export { ApplyConflictError, conflictCauses } from './apply.ts';
export { applyAsKubectlDid } from './last-applied.ts';
export {
  hasValidManagedFields,
  managedFieldsAfterUpdate,
  sameOwnership,
  withExplicitReset,
  type Writer,
} from './managed-fields.ts';
export { withoutManagedFields } from './ownership.ts';
export type { Converted, Versions } from './versions.ts';
export { disownFields } from './disown.ts';
