import { controllers } from '@cluster-apiserver/controllers';
import { nearestName } from '@cluster-apiserver/base';
import { certificateFilesOf } from '../files/pem-files.ts';
import { fileOf } from '../files/flag-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { controllerFlags } from './controller-flags.ts';

export type ControllerSettings = ReturnType<typeof controllerSettingsOf>;

const names = Object.keys(controllers);

/** `*` enables all, `name` one, `-name` disables one; the last word about a controller wins. */
export function controllerSettingsOf(values: FlagValues<typeof controllerFlags>, problems: string[]) {
  const words = values.controllers;
  for (const word of words) {
    const name = word.replace(/^-/, '');
    if (name === '*' || names.includes(name)) continue;
    const nearest = nearestName(name, names);
    problems.push(
      `--controllers: there is no ${JSON.stringify(name)}; ${nearest ? `did you mean ${nearest}?` : `there is ${names.join(', ')}`}`,
    );
  }
  const onlyExceptions = words.length > 0 && words.every((word) => word.startsWith('-'));
  const chosen: Set<string> = new Set(onlyExceptions ? names : []);
  for (const word of words) {
    if (word === '*') for (const name of names) chosen.add(name);
    else if (word.startsWith('-')) chosen.delete(word.slice(1));
    else chosen.add(word);
  }
  const signerFlags = ['cluster-signing-cert-file', 'cluster-signing-key-file'] as const;
  return {
    chosen,
    rootCaFile: fileOf(values, 'root-ca-file'),
    signerFiles: certificateFilesOf(values, signerFlags, problems),
    signingDurationMs: values['cluster-signing-duration'],
  };
}
