import { type Clock, formatDuration, type Random } from '@cluster-apiserver/base';
import { type Documents, rootDocuments, type VersionInfo, zpages } from '@cluster-apiserver/pipeline';
import { placeholderOf, type ServerFlags } from '../flags.ts';

/** What tells operators about this server: `/statusz`, `/flagz`, and `/` with the paths of all documents. */
export const statusDocuments = ({ flags, ...about }: StatusOptions): Documents => ({
  ...zpages({ ...about, component: 'cluster-apiserver', flags: flagTexts(flags) }),
  ...rootDocuments,
});

interface StatusOptions {
  readonly flags: ServerFlags;
  readonly version: VersionInfo;
  readonly clock: Clock;
  readonly random: Random;
}

/** Flags as an operator would write them. Secrets are in files, but for passwords in URLs. */
export const flagTexts = (flags: ServerFlags): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(flags).map(([name, value]) => {
      const isDuration = placeholderOf(name as keyof ServerFlags) === 'duration';
      const text = isDuration && typeof value === 'number' ? formatDuration(value) : flagText(value);
      return [name, text.replace(passwordInUrl, 'xxxxx')];
    }),
  );

/** As Go hides it. */
const passwordInUrl = /(?<=:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/g;

function flagText(value: ServerFlags[keyof ServerFlags]): string {
  if (value === 'unset') return '';
  if (value instanceof Map) return Array.from(value, ([name, given]) => `${name}=${given}`).join(',');
  return String(value);
}
