/** A table row; cells are escaped. */
const row = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');

export const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

export const generated = (by: string): string =>
  `<!-- Written by ${by}, and not by hand: npm run reference writes it anew. -->`;
