/**
 * Decodes base64 with padding, perhaps in several lines, as Go's standard encoding reads it. Undefined for other text,
 * where Node would skip characters and decode other bytes.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const line = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, '') : text;
  return line.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(line) ? Buffer.from(line, 'base64') : undefined;
}
