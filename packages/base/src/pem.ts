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

/** The certificates of a bundle. Undefined if it has none, or one that is not complete: it may be half-written. */
export function readCertificateBlocks(pem: string): readonly string[] | undefined {
  const texts = pemBlocks(pem).flatMap(({ label, text }) => (label === 'CERTIFICATE' ? text : []));
  return texts.length > 0 && texts.length === pem.split('-----BEGIN CERTIFICATE-----').length - 1 ? texts : undefined;
}
