import { type FlagValues, integer, oneOf } from '../flags/flag.ts';

/** Flags of the log. */
export const loggingFlags = {
  'logging-format': oneOf<'text' | 'json'>('Log format: text as klog writes it, or JSON.', 'text', ['text', 'json']),
  v: integer(
    'Log verbosity: 0 for operators, 1 adds steps at the start, 2 adds each request and what controllers do.',
    '0',
    [0, 10],
  ),
};

export type LoggingSettings = ReturnType<typeof loggingSettingsOf>;

export const loggingSettingsOf = (values: FlagValues<typeof loggingFlags>) => ({
  format: values['logging-format'],
  verbosity: values.v,
});
