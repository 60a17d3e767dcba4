/**
 * The recording at the top of README.md, as an animation. It is drawn from the text of the page; `readme.cluster.test.ts`
 * draws it again from what the commands have printed, and compares the two.
 */
import { readDocument, type Step, stepsOf } from '../document-steps.ts';

const columns = 100;
const lineHeight = 20;
const charWidth = 8.4;
const padding = 20;
const barHeight = 34;
const width = Math.ceil(columns * charWidth + 2 * padding);

/** When a line appears: a command when it has been read up to it, its output shortly after. */
const beforeCommandMs = 1_400;
const beforeOutputMs = 700;
const atEndMs = 6_000;

interface Line {
  readonly text: string;
  readonly kind: 'command' | 'output';
  readonly atMs: number;
}

export const tour = (): string => drawTour(stepsOf(readDocument('README.md'), '## Try it').slice(1));

/** The steps after `npm start`. */
export function drawTour(steps: readonly Step[]): string {
  const lines: Line[] = [];
  let atMs = -beforeCommandMs;
  const add = (text: string, kind: Line['kind']): void => {
    for (const part of wrap(text)) lines.push({ text: part, kind, atMs });
  };
  for (const { command, shown } of steps) {
    atMs += beforeCommandMs;
    add(`$ ${command}`, 'command');
    atMs += beforeOutputMs;
    for (const line of shown) add(line, 'output');
  }
  return draw(lines, atMs + atEndMs);
}

/** Breaks a line as a terminal does. */
const wrap = (text: string): string[] => text.match(new RegExp(`.{1,${columns}}`, 'g')) ?? [''];

function draw(lines: readonly Line[], totalMs: number): string {
  const height = barHeight + lines.length * lineHeight + padding;
  const times = [...new Set(lines.map(({ atMs }) => atMs))];
  const percent = (ms: number): string => `${((ms / totalMs) * 100).toFixed(2)}%`;
  // Without animations everything is visible, so the last picture is what other programs show.
  const styles = times.map(
    (ms) =>
      `@keyframes at${ms}{0%{opacity:0}${percent(ms)},100%{opacity:1}}.at${ms}{animation:at${ms} ${totalMs}ms step-end infinite}`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">`,
    '<title>A custom resource is defined and used; a replica is killed, and the next request is answered</title>',
    `<style>${styles.join('')}@media(prefers-reduced-motion:reduce){text{animation:none!important}}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#16181d"/>`,
    ...['#e0605e', '#e0b25e', '#62b36b'].map(
      (color, n) => `<circle cx="${22 + n * 20}" cy="17" r="6" fill="${color}"/>`,
    ),
    ...lines.map(
      ({ text, kind, atMs }, n) =>
        `<text class="at${atMs}" x="${padding}" y="${barHeight + (n + 1) * lineHeight - 6}" fill="${kind === 'command' ? '#ffffff' : '#9fb3c8'}">${escaped(text)}</text>`,
    ),
    '</svg>\n',
  ].join('\n');
}

/** Columns stay where they are: programs join blanks, but not these. */
const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/ {2,}/g, (blanks) => '\u00a0'.repeat(blanks.length));
