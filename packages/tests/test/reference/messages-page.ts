import { readLogCalls } from '../architecture/log-calls.ts';
import { code, generated, table } from './markdown.ts';

/** docs/messages.md: the warnings and errors of the log, from the code that logs them. */
export function messagesPage(): string {
  const calls = readLogCalls().filter(({ remedy }) => remedy !== undefined);
  const rows = (method: string): string[][] =>
    [...new Map(calls.filter((call) => call.method === method).map((call) => [call.message, call])).values()]
      .toSorted((a, b) => a.message.localeCompare(b.message))
      .map(({ message, meaning = '', remedy = '' }) => [code(message), meaning, linked(remedy)]);
  const head = ['message', 'meaning', 'what to do'];
  return `${[
    '# Messages',
    generated('packages/tests/test/reference/messages-page.ts'),
    'All warnings and errors that a replica logs. A healthy start and a rolling restart log none of them. The field `err` of a line names the cause, `remedy` is the last column. The second column is the comment `Meaning` above the message in the code.',
    'An outage of something that the server depends on is one line when it begins, and a line of severity `I` when it ends. While it lasts there is one line a minute, with `lasted`, and `failures` since the line before. [logs.md](logs.md) explains the format.',
    '## Errors (`E`): an operator must act',
    table(head, rows('error')),
    '## Warnings (`W`): an operator should look at it',
    table(head, rows('warn')),
  ].join('\n\n')}\n`;
}

const linked = (text: string): string => text.replace(/docs\/([\w-]+\.md)/g, '[$1]($1)');
