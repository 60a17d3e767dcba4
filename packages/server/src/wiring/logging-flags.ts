import { integer, oneOf } from '../flag.ts';

/** Flags of the log. */
export const loggingFlags = {
  'logging-format': oneOf<'text' | 'json'>({ fallback: 'text', help: 'How log lines are written.' }, ['text', 'json']),
  v: integer(
    {
      fallback: '0',
      help: 'How much is logged: 0 what operators need, 2 every request, 4 what helps to find faults.',
    },
    [0, 10],
  ),
};
