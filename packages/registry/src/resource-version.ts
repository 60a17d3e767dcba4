import { badRequest } from '@cluster-apiserver/model';
import { type Revision, revision } from '@cluster-apiserver/storage';

/** Versions have 64 bits. */
const versionMax = 2n ** 64n - 1n;

/** What is no number does not count, as in kube-apiserver. */
export function refuseVersionOfNew(version: string | undefined): void {
  if (version !== undefined && isVersion(version) && !/^0+$/.test(version))
    throw badRequest('resourceVersion should not be set on objects to be created');
}

/**
 * The version that a client names: a revision, `any` for 0, or undefined for none. A number beyond what a double holds
 * is a revision of the far future either way. Leading zeros have no meaning, as for Go's parser.
 */
export function parseResourceVersion(text: string | undefined): Revision | 'any' | undefined {
  if (text === undefined || text === '') return undefined;
  if (!isVersion(text)) throw badRequest(`invalid resource version ${JSON.stringify(text)}: not a number of 64 bits`);
  return /^0+$/.test(text) ? 'any' : revision(Number(text));
}

function isVersion(text: string): boolean {
  const digits = text.replace(/^0+(?=.)/, '');
  return /^[0-9]{1,20}$/.test(digits) && (digits.length < 20 || BigInt(digits) <= versionMax);
}
