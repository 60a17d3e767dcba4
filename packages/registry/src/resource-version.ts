import { badRequest } from '@cluster-apiserver/model';
import { type Revision, revision } from '@cluster-apiserver/storage';

/**
 * The version that a client names: a revision, `any` for 0, or undefined for none. A number beyond what a double holds
 * is a revision of the far future either way.
 */
export function parseResourceVersion(text: string | undefined): Revision | 'any' | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^[0-9]{1,20}$/.test(text)) throw badRequest(`invalid resource version ${JSON.stringify(text)}: not a number`);
  return Number(text) === 0 ? 'any' : revision(Number(text));
}
