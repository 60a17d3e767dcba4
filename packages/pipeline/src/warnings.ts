/** Total characters of all Warning headers; beyond it each is truncated, as in kube-apiserver. */
const charactersMax = 4096;
const cutCharactersMax = 256;

/** The values of the Warning headers: code 299, no agent, the quoted text. */
export function warningHeaders(texts: ReadonlySet<string>): readonly string[] {
  const total = [...texts].reduce((sum, text) => sum + text.length, 0);
  let left = charactersMax;
  return [...texts].flatMap((text) => {
    const shown = total <= charactersMax ? text : text.slice(0, cutCharactersMax);
    left -= shown.length;
    return left >= 0 ? [`299 - "${escapeQuoted(shown)}"`] : [];
  });
}

/** Headers cannot hold line breaks or characters beyond Latin-1; quotes and backslashes are escaped. */
const escapeQuoted = (text: string): string =>
  text
    .replaceAll(/[\0-\x1f\x7f]/g, ' ')
    .replaceAll(/[\\"]/g, '\\$&')
    .replaceAll(/[^\x20-\x7e]+/g, (other) => Buffer.from(other).toString('latin1'))
    .replaceAll(/[\x80-\x9f]/g, '?');
