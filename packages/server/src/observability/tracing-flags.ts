import { path } from '../flags/flag.ts';

/** Flags of tracing. */
export const tracingFlags = {
  'tracing-config-file': path('File with the TracingConfiguration. Without it, no request is traced.'),
};
