import { pairs } from '../flag.ts';

/** Flags of features that are not for everybody yet. */
export const featureFlags = {
  'feature-gates': pairs({
    fallback: '',
    help: 'What to switch on or off before its time: AllowUnsafeMalformedObjectDeletion (alpha, off), ShardedListAndWatch (alpha, off), AllAlpha, AllBeta.',
  }),
};
