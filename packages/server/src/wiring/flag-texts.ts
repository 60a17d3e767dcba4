import { formatFlag } from '../flag.ts';
import { flagGroups, type ServerFlags } from '../flags.ts';

/** Flags as an operator would write them. Secrets are in files, but for passwords in URLs. */
export function formatFlags(flags: ServerFlags): Readonly<Record<string, string>> {
  const all = flagGroups.flatMap(([, group]) => Object.entries(group));
  return Object.fromEntries(
    all.map(([name, flag]) => [
      name,
      formatFlag(flag, flags[name as keyof ServerFlags]).replaceAll(passwordInUrl, 'xxxxx'), // as Go hides it
    ]),
  );
}

/** Of URLs such as those of etcd. */
const passwordInUrl = /(?<=:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/g;
