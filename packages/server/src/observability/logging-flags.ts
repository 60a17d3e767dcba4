import { type FlagValues, integer, oneOf } from '../flags/flag.ts';

/** Flags of the log. */
export const loggingFlags = {
  'logging-format': oneOf<'text' | 'json'>({ default: 'text', help: 'Log format: text as klog writes it, or JSON.' }, [
    'text',
    'json',
  ]),
  v: integer(
    {
      default: '0',
      help: 'Log verbosity: 0 for operators, 1 adds steps at the start, 2 adds each request and what controllers do.',
    },
    [0, 10],
  ),
};

export interface LoggingSettings {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
}

export const loggingSettingsOf = (values: FlagValues<typeof loggingFlags>): LoggingSettings => ({
  format: values['logging-format'],
  verbosity: values.v,
});
