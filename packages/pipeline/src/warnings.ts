/** All warnings of one answer, in characters; beyond it each is cut, so that one answer's headers stay readable. */
const charactersMax = 4096;
const cutCharactersMax = 256;

/** The values of the Warning headers: code 299, no agent, the text quoted. */
export function warningHeaders(texts: ReadonlySet<string>): readonly string[] {
  const total = [...texts].reduce((sum, text) => sum + text.length, 0);
  let left = charactersMax;
  return [...texts].flatMap((text) => {
    const shown = total <= charactersMax ? text : text.slice(0, cutCharactersMax);
    left -= shown.length;
    return left >= 0 ? [`299 - "${quotable(shown)}"`] : [];
  });
}

/** A header takes neither line breaks nor what is no Latin-1; quotes and backslashes are escaped. */
const quotable = (text: string): string =>
  text
    .replaceAll(/[\0-\x1f\x7f]/g, ' ')
    .replaceAll(/[\\"]/g, '\\$&')
    .replaceAll(/[^\x20-\x7e]+/g, (other) => Buffer.from(other).toString('latin1'))
    .replaceAll(/[\x80-\x9f]/g, '?');
