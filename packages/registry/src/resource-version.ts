import { badRequest } from '@cluster-apiserver/model';
import { type Revision, revision } from '@cluster-apiserver/storage';

/** Versions have 64 bits. */
const versionMax = 2n ** 64n - 1n;

/**
 * The version that a client names: a revision, `any` for 0, or undefined for none. A number beyond what a double holds
 * is a revision of the far future either way. Leading zeros have no meaning, as for Go's parser.
 */
export function parseResourceVersion(text: string | undefined): Revision | 'any' | undefined {
  if (text === undefined || text === '') return undefined;
  const digits = text.replace(/^0+(?=.)/, '');
  if (!/^[0-9]{1,20}$/.test(digits) || (digits.length === 20 && BigInt(digits) > versionMax))
    throw badRequest(`invalid resource version ${JSON.stringify(text)}: not a number of 64 bits`);
  return digits === '0' ? 'any' : revision(Number(digits));
}
