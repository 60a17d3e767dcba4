import type { Random } from '@cluster-apiserver/base';

/** Without vowels and similar characters, as in Kubernetes. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
/** A generated name fits into a DNS label. */
const generatedLengthMax = 63;

export function generatedName(prefix: string, random: Random): string {
  let suffix = '';
  for (let i = 0; i < suffixLength; i++) suffix += alphabet[random.below(alphabet.length)];
  return prefix.slice(0, generatedLengthMax - suffixLength) + suffix;
}
