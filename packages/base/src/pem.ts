/** A block of a PEM text. */
export interface PemBlock {
  readonly label: string;
  readonly text: string;
  /** Where it begins in the whole. */
  readonly offset: number;
}

/** Headers of a block may have dashes, but not five. */
const block = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*(?:-(?!----)[^-]*)*-----END \1-----/g;

/** The complete blocks. What is between them is ignored. */
export const pemBlocks = (pem: string): readonly PemBlock[] =>
  [...pem.matchAll(block)].map(({ 0: text, 1: label = '', index }) => ({ label, text, offset: index }));

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** The bytes of a block, and whether lines such as `Proc-Type: 4,ENCRYPTED` precede them. Undefined if they are no base64. */
export function decodePemBlock({
  text,
}: PemBlock): { readonly bytes: Buffer; readonly hasHeaders: boolean } | undefined {
  const lines = text.split(/\r?\n/).slice(1, -1);
  const begin = Math.max(
    lines.findIndex((line) => !line.includes(':')),
    0,
  );
  const data = lines
    .slice(begin)
    .map((line) => line.trim())
    .join('');
  if (data.length % 4 !== 0 || !base64.test(data)) return undefined;
  return { bytes: Buffer.from(data, 'base64'), hasHeaders: begin > 0 };
}

/** The certificates of a bundle. Undefined if it has none, or one that is not complete: it may be half-written. */
export function readCertificateBlocks(pem: string): readonly string[] | undefined {
  const texts = pemBlocks(pem).flatMap(({ label, text }) => (label === 'CERTIFICATE' ? text : []));
  return texts.length > 0 && texts.length === pem.split('-----BEGIN CERTIFICATE-----').length - 1 ? texts : undefined;
}
