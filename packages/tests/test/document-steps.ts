/** The commands that documents show, with their output. */
import fs from 'node:fs';
import path from 'node:path';

interface Step {
  readonly command: string;
  readonly shown: readonly string[];
}

export const readDocument = (name: string): string =>
  fs.readFileSync(path.resolve(import.meta.dirname, '..', '..', '..', name), 'utf8');

/** The steps of the first console block below the heading. Further lines of a command begin with `>`, as in a shell. */
export function stepsBelow(text: string, heading: string): Step[] {
  const block = /```console\n([^]*?)```/.exec(text.slice(text.indexOf(heading)))?.[1] ?? '';
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [first = '', ...lines] = step.split('\n').filter((line) => line !== '');
      const further = lines.filter((line) => line.startsWith('> ')).map((line) => line.slice(2));
      return { command: [first, ...further].join('\n'), shown: lines.filter((line) => !line.startsWith('> ')) };
    });
}
