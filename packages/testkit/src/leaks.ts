/** Searches the files of a store for values that should be encrypted. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Tests put it into values, which are encrypted. Keys are names and are not encrypted. */
export const canary = 'canary-61c7';

/** Returns the files that contain it, and in which encoding. */
export const leaksBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(directory, name)).isFile())
    .flatMap((name) => leaksIn(readFileSync(join(directory, name))).map((how) => `${name} holds ${canary} ${how}`));

export const leaksIn = (bytes: Buffer): string[] =>
  Object.entries(forms)
    .filter(([, forms]) => forms.some((form) => bytes.includes(form)))
    .map(([how]) => how);

/** The base64 letters that depend only on the canary, with this many bytes before it in its group of three. */
function inBase64(before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(canary)]);
  const [first, behind] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
  return bytes.toString('base64').slice(first, behind);
}

const hex = Buffer.from(canary).toString('hex');

/** The unencrypted encodings. Its base64 is the same in both alphabets. */
const forms: Readonly<Record<string, readonly string[]>> = {
  'in clear': [canary],
  'in base64': [0, 1, 2].map(inBase64),
  'in hex': [hex, hex.toUpperCase()],
};
