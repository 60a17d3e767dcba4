import { pairs } from '../flags/flag.ts';

/** Flags of features that are not generally available. */
export const featureFlags = {
  'feature-gates': pairs(
    'Feature gates to set: AllowUnsafeMalformedObjectDeletion (alpha, off), ShardedListAndWatch (alpha, off), AllAlpha, AllBeta.',
  ),
};
