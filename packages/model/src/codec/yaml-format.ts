import { isRawNumber } from '../schema/decode.ts';

/**
 * A JSON value as YAML that every reader understands: what one of them might take for a number, a boolean or a date is
 * quoted. Below a certain depth the value stands in one line, as JSON, which is YAML too: indentation alone would
 * make a deeply nested value larger than any bound, and indenting it would take more stack than there is.
 */
const blockDepthMax = 20;
/** Readers need not look further ahead for the colon behind a key. */
const keyCharactersMax = 1000;

export function formatYaml(value: unknown): string {
  const lines: string[] = [];
  writeNode(lines, value, '', '', 0);
  return `${lines.join('\n')}\n`;
}

type Container = Readonly<Record<string, unknown>> | readonly unknown[];

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !isRawNumber(value);

const isInOneLine = (value: unknown, depth: number): boolean =>
  !isContainer(value) || depth >= blockDepthMax || Object.keys(value).length === 0;

/** The first line begins with `lead`, the others with `indent`. */
function writeNode(lines: string[], value: unknown, lead: string, indent: string, depth: number): void {
  if (isInOneLine(value, depth)) lines.push(lead + oneLine(value, indent));
  else if (Array.isArray(value)) writeItems(lines, value, lead, indent, depth);
  else writeMembers(lines, value as Readonly<Record<string, unknown>>, lead, indent, depth);
}

function writeItems(lines: string[], items: readonly unknown[], lead: string, indent: string, depth: number): void {
  items.forEach((item, index) => {
    writeNode(lines, item, `${index === 0 ? lead : indent}- `, `${indent}  `, depth + 1);
  });
}

function writeMembers(
  lines: string[],
  map: Readonly<Record<string, unknown>>,
  lead: string,
  indent: string,
  depth: number,
): void {
  let start = lead;
  for (const [key, value] of Object.entries(map)) {
    if (value === undefined) continue;
    const name = shownText(key);
    const colon = name.length > keyCharactersMax ? `${start}? ${name}\n${indent}:` : `${start}${name}:`;
    start = indent;
    if (isInOneLine(value, depth + 1)) lines.push(`${colon} ${oneLine(value, indent)}`);
    else {
      lines.push(colon);
      // Items need no indentation of their own: their dashes are one.
      const inside = Array.isArray(value) ? indent : `${indent}  `;
      writeNode(lines, value, inside, inside, depth + 1);
    }
  }
}

/** Several lines for a text that has them. */
function oneLine(value: unknown, indent: string): string {
  if (typeof value !== 'string') return escaped(JSON.stringify(value) ?? 'null');
  return block.test(value) ? blockText(value, indent) : shownText(value);
}

/** No control characters but newlines, a first line that begins with a letter or a sign, and more than one line. */
const block =
  /^[!-~\u00a0-\u2027\u202a-\ud7ff][\t -~\u00a0-\u2027\u202a-\ud7ff]*\n[\t\n -~\u00a0-\u2027\u202a-\ud7ff]*$/;

function blockText(text: string, indent: string): string {
  const end = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  const inside = `${indent}  `;
  return `|${end}\n${body
    .split('\n')
    .map((line) => (line === '' ? '' : inside + line))
    .join('\n')}`;
}

const plain = /^[A-Za-z_/](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9])| (?=[A-Za-z0-9(]))*$/;
const reserved = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

const shownText = (text: string): string =>
  plain.test(text) && !reserved.test(text) ? text : escaped(JSON.stringify(text));

/** JSON leaves some characters as they are that no YAML may have. */
const escaped = (json: string): string =>
  json.replaceAll(
    /[\x7f-\x9f\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
