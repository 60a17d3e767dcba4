import fs from 'node:fs';
import path from 'node:path';
import { outputOf } from './child.mjs';
import { root } from './project.mjs';

/**
 * Words that a reader would have to translate, and what to write instead.
 * @type {readonly (readonly [RegExp, string])[]}
 */
const plainWords = [
  [/\bwhoever\b/i, 'the user, the client, whichever …'],
  [/\b(no|some)body\b/i, 'no user, no client; another user, another writer'],
  [/\b(is|are) (told|untold)\b/i, 'is notified, reported, logged, returned'],
  [/\b(is|are) away\b/i, 'is unreachable, is unavailable'],
  [/\blies in (a|no|the|its) namespace\b/i, 'is in a namespace; is cluster-scoped'],
  [/\btaken into service\b|\bcomes? into service\b/i, 'applied, reloaded'],
  [/\bbelieved?\b/i, 'trusted, accepted'],
  [/\banew\b/i, 'again'],
  [/\b(is|are) (not )?well\b(?! (formed|known))/i, 'healthy, unhealthy'],
  [/\b(error|fault|bug)s? of ours\b/i, 'internal error'],
  [/\brooms\b|\b(a|the|this|each|its|other) room\b/i, 'package'],
  [/\bnewest revision\b/i, 'latest revision'],
];

/** Documents, and the comments and messages that their generated parts come from. Tests use such words as names of users. */
const checked = ['*.md', '*.snap', 'helm/**', 'deploy/**', 'packages/*/src/**/*.ts', ':!**/*.test.ts'];

/** Prints each place, and returns how many there are. */
export function reportPrivateWords(print) {
  const files = outputOf('git', ['ls-files', '--', ...checked])
    .split('\n')
    // It also lists deleted files until that is staged.
    .filter((file) => file && fs.existsSync(path.join(root, file)));
  const found = files.flatMap((file) => privateWordsIn(file));
  for (const line of found) print(`  ${line}\n`);
  return found.length;
}

function privateWordsIn(file) {
  const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n');
  return lines.flatMap((line, at) =>
    plainWords.flatMap(([pattern, instead]) => {
      const word = pattern.exec(line)?.[0];
      return word ? [`${file}:${at + 1}: "${word}", write: ${instead}`] : [];
    }),
  );
}
