/** What was to be encrypted, looked for in all that a store has written. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Tests put it into whatever is to be encrypted: into values, for keys are names and lie in clear. */
export const canary = 'canary-61c7';

/** Says in which files it lies, and how. */
export const leaksBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(directory, name)).isFile())
    .flatMap((name) => leaksIn(readFileSync(join(directory, name))).map((how) => `${name} holds ${canary} ${how}`));

export const leaksIn = (bytes: Buffer): string[] =>
  Object.entries(forms)
    .filter(([, forms]) => forms.some((form) => bytes.includes(form)))
    .map(([how]) => how);

/** The letters that depend on the canary alone, with so many bytes before it in its group of three. */
function inBase64(before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(canary)]);
  const [first, behind] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
  return bytes.toString('base64').slice(first, behind);
}

const hex = Buffer.from(canary).toString('hex');

/** As it may lie among other bytes without having been encrypted. Its base64 is the same in both alphabets. */
const forms: Readonly<Record<string, readonly string[]>> = {
  'in clear': [canary],
  'in base64': [0, 1, 2].map(inBase64),
  'in hex': [hex, hex.toUpperCase()],
};
