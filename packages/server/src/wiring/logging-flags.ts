import { integer, oneOf } from '../flag.ts';

/** Flags of the log. */
export const loggingFlags = {
  'logging-format': oneOf<'text' | 'json'>({ fallback: 'text', help: 'Format of log lines.' }, ['text', 'json']),
  v: integer(
    {
      fallback: '0',
      help: 'Log verbosity: 0 for operators, 2 for each request, 4 for debugging.',
    },
    [0, 10],
  ),
};
