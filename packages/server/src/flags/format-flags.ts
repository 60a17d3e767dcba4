import { getOwn } from '@cluster-apiserver/base';
import { formatFlag } from './flag.ts';
import { flagGroups, type ServerFlags } from './flags.ts';

/** All flags in command-line syntax. Passwords in URLs are hidden; other secrets are in files. */
export function formatFlags(flags: ServerFlags): Readonly<Record<string, string>> {
  const all = flagGroups.flatMap(([, group]) => Object.entries(group));
  return Object.fromEntries(
    all.map(([name, flag]) => [
      name,
      formatFlag(flag, getOwn(flags, name)).replaceAll(passwordInUrl, 'xxxxx'), // as Go hides it
    ]),
  );
}

/** Matches the password of a URL, such as one of etcd. */
const passwordInUrl = /(?<=:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/g;
