import fs from 'node:fs';
import path from 'node:path';
import { root } from './project.mjs';
import { filesOf } from './prose.mjs';

/** CONTRIBUTING.md asks for it. */
const wordsMax = 25;

/** The diary records what was measured and tried, in the words of its day. */
const documents = ['*.md', ':!docs/diary/**'];

/** Prints each place, and returns how many there are. */
export function reportLongSentences(print) {
  const found = filesOf(documents).flatMap((file) =>
    longSentencesIn(fs.readFileSync(path.join(root, file), 'utf8')).map(
      ({ line, words, text }) => `${file}:${line}: ${words} words: ${text}`,
    ),
  );
  for (const line of found) print(`  ${line}\n`);
  return found.length;
}

/**
 * The sentences of a Markdown text that are too long. Each cell of a table, item of a list and heading has its own
 * sentences. Code blocks and generated tables do not count, nor do targets of links. A code span is one word.
 * @param {string} markdown
 */
function longSentencesIn(markdown) {
  return blocksOf(markdown).flatMap(({ line, text }) =>
    sentencesOf(text)
      .map((sentence) => ({ line, words: sentence.split(/\s+/).filter(isWord).length, text: sentence }))
      .filter(({ words }) => words > wordsMax),
  );
}

/** Paragraphs, items, cells and headings, with the lines that they begin on. */
function blocksOf(markdown) {
  let isGenerated = false;
  const blocks = [];
  let open;
  let fence;
  for (const [at, line] of markdown.split('\n').entries()) {
    if (line.startsWith('<!--')) {
      isGenerated = /\b(generated|written) by\b/i.test(line);
      continue;
    }
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (mark && (fence === undefined || line.trim() === fence)) {
      fence = fence === undefined ? mark : undefined;
      open = undefined;
    } else if (fence !== undefined) continue;
    else if (/^\s*\|/.test(line)) {
      open = undefined;
      if (!isGenerated) for (const text of line.split(/(?<!\\)\|/)) blocks.push({ line: at + 1, text });
    } else if (line.trim() === '' || /^\s*\[[^\]]+\]: /.test(line)) open = undefined;
    else {
      if (!open || /^\s*([-*+>]|\d+\.|#+) /.test(line)) blocks.push((open = { line: at + 1, text: '' }));
      open.text += ` ${line.replace(/^\s*([-*+>]|\d+\.|#+) /, '')}`;
    }
  }
  return blocks;
}

/** Full stops in code and numbers end no sentence. A link may begin one, also with a small letter. */
function sentencesOf(text) {
  return text
    .replace(/`+[^`]*`+/g, 'code')
    .replace(/!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, '\u2060$1')
    .split(/(?<=[.!?][)"'*_]*)\s+(?=[^a-z]|code\b|(?:etcd|kubectl|kube-apiserver|npm|client-go)\b)/)
    .map((sentence) => sentence.trim());
}

const isWord = (text) => /[\p{L}\p{N}]/u.test(text);
