import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { packages, readSources } from './sources.ts';

/**
 * The log writes so many lines with one message and no more. So a client can fill it only by a message that varies with
 * its words: messages are literals, and what varies stands in fields.
 */
const computed: Readonly<Record<string, readonly [expression: string, reason: string][]>> = {
  'server/src/main.ts': [['what', 'one of two literals, and the process ends with it']],
  'server/src/wiring/listener.ts': [['what', 'a literal or one of callbackPlaces, see pipeline/src/node/guard.ts']],
  'server/src/wiring/followed-configuration.ts': [
    ['`a new ${what} is in service`', 'one of the kinds of configuration files'],
    ['`the new ${what} is not usable, the old one stays`', 'one of the kinds of configuration files'],
  ],
  'server/src/wiring/webhook-connection.ts': [
    ['`connection of the ${of} reloaded`', 'one of the webhooks that operators have configured'],
    ['`the changed connection of the ${of} is not usable, the old one stays`', 'one of those webhooks'],
  ],
};

const logCall = /\blog\s*\.\s*(?:info|warn|error)\(\s*('[^'\n]*'|"[^"\n]*"|`[^`]*`|\w+)/g;

test('log messages do not vary with what clients send', () => {
  const found: Record<string, string[]> = {};
  let literals = 0;
  for (const { path: file, ofTests } of readSources()) {
    if (ofTests) continue;
    for (const [, message = ''] of fs.readFileSync(path.join(packages, file), 'utf8').matchAll(logCall)) {
      if (/^['"]/.test(message)) literals++;
      else (found[file] ??= []).push(message);
    }
  }
  const allowed = Object.entries(computed).map(([file, all]) => [file, all.map(([expression]) => expression)]);
  expect(found).toEqual(Object.fromEntries(allowed));
  expect(literals).toBeGreaterThan(20);
});
