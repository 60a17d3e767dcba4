import fs from 'node:fs';
import path from 'node:path';
import { outputOf } from './child.mjs';
import { root } from './project.mjs';

/** @typedef {readonly (readonly [pattern: RegExp, instead: string])[]} Words */

/**
 * Words that a reader would have to translate, and what to write instead.
 * @type {Words}
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
  [/\bprocessor time\b/i, 'CPU time'],
  [/\bturns? of the (event )?loop\b|\bevent[- ]loop turns?\b/i, 'event-loop iteration'],
  [/\byardsticks?\b/i, 'baseline'],
  [/\bstrangers?\b/i, 'untrusted user'],
  [/\bmended\b/i, 'fixed'],
  [/\bwhat one does\b|\bbegun again\b/i, 'a title of nouns; run again'],
];

/**
 * Words that identifiers and comments of the sources may use.
 * @type {Words}
 */
const wordsOfDocuments = [
  // What happens in turn, and verbs: a program turns a StatusError into a response.
  [/(?<!\bin )\bturns?\b(?! (a|an|the|it|on|off|flags)\b)/i, 'event-loop iteration; alternate'],
  [/\bnewest\b/i, 'latest'],
  [/\bjudg(es?|ed|ing|e?ments?)\b/i, 'checker, check, decide'],
  [/\bstands? in\b(?! for\b)|\bas (it|they) stands? here\b/i, 'is in, is here'],
  [/\btells? (who|what|which|whether|when|since|how|where)\b/i, 'states, determines'],
  [/\blies (before|after)\b/i, 'precedes, follows'],
];

/**
 * A description that begins with a clause, as in `field(3, time, 'When it was created.')`.
 * @type {Words}
 */
const beginningsOfDescriptions = [
  [/(?<=[('`\s])'(What|Whom?|Whose|Where|When|Why|How|Which) [a-z][^']* /, 'a noun phrase: Time of …, Name of …'],
];

/** Documents, and what is read beside them. The diary keeps the words of its day. */
const documents = ['*.md', '*.snap', 'helm/**', 'deploy/**', ':!docs/diary/**'];
/** The comments and messages that generated parts of documents come from. Tests use such words as names of users. */
const sources = [':(glob)packages/*/src/**/*.ts', ':(glob,exclude)packages/*/src/**/*.test.ts'];
/** Programs whose comments and output are for developers. */
const programs = ['packages/toolchain/*.mjs', 'bench/*.mjs', ':!packages/toolchain/prose.mjs'];

/** Prints each place, and returns how many there are. */
export function reportPrivateWords(print) {
  const found = [
    ...wordsIn(documents, [...plainWords, ...wordsOfDocuments]),
    ...wordsIn(sources, [...plainWords, ...beginningsOfDescriptions]),
    ...wordsIn(programs, [...plainWords, ...wordsOfDocuments]),
  ];
  for (const line of found) print(`  ${line}\n`);
  return found.length;
}

/**
 * The tracked files that these patterns of git name.
 * @param {readonly string[]} patterns
 * @returns {string[]}
 */
export const filesOf = (patterns) =>
  (outputOf('git', ['ls-files', '--', ...patterns]) ?? '')
    .split('\n')
    // It also lists deleted files until that is staged, and links to directories.
    .filter((file) => file && fs.statSync(path.join(root, file), { throwIfNoEntry: false })?.isFile());

/**
 * @param {readonly string[]} patterns
 * @param {Words} words
 */
const wordsIn = (patterns, words) => filesOf(patterns).flatMap((file) => privateWordsIn(file, words));

/**
 * @param {string} file
 * @param {Words} words
 */
function privateWordsIn(file, words) {
  const lines = fs.readFileSync(path.join(root, file), 'utf8').split('\n');
  return lines.flatMap((line, at) =>
    words.flatMap(([pattern, instead]) => {
      const word = pattern.exec(line)?.[0];
      return word ? [`${file}:${at + 1}: "${word}", write: ${instead}`] : [];
    }),
  );
}
