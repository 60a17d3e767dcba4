/** The blocks of documents, and the commands that they show, with their output. */
import fs from 'node:fs';
import path from 'node:path';

export interface Step {
  readonly command: string;
  readonly shown: readonly string[];
}

export interface Block {
  /** The heading above it, as in the text: `## Restore`. */
  readonly heading: string;
  /** Empty without a tag. */
  readonly language: string;
  readonly text: string;
}

export const readDocument = (name: string): string =>
  fs.readFileSync(path.resolve(import.meta.dirname, '..', '..', '..', name), 'utf8');

/** The fenced blocks of a page; those of a list without its indent. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let heading = '';
  for (const [part, indent, language, text] of page.matchAll(/^#+ .*|^( *)```(\S*)\n([^]*?)^\1```$/gm))
    if (text === undefined) heading = part;
    else blocks.push({ heading, language: language ?? '', text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') });
  return blocks;
}

/** The steps of all console blocks of the section. Further lines of a command begin with `>`, as in a shell. */
export const stepsOf = (page: string, heading: string): Step[] =>
  blocksOf(page)
    .filter((block) => block.heading === heading && block.language === 'console')
    .flatMap(({ text }) => text.split(/^\$ /m).slice(1))
    .map((step) => {
      const [first = '', ...lines] = step.split('\n').filter((line) => line !== '');
      const further = lines.filter((line) => line.startsWith('> ')).map((line) => line.slice(2));
      return { command: [first, ...further].join('\n'), shown: lines.filter((line) => !line.startsWith('> ')) };
    });
