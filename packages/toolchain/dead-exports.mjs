import fs from 'node:fs';
import path from 'node:path';
import { root } from './project.mjs';

/**
 * Names exported for nobody. A file's exports are for the other files of its room, its tests included; a door's are
 * for other rooms and for tests. What only its own file uses needs no `export`, except for a type: it may be the form
 * of what its file or its door does export, and then whoever uses that should be able to name it.
 *
 * TypeScript 7 offers no programming interface, so imports and exports are read as text. The forms that the project
 * uses are few, and a form that is not understood shows up as a dead export rather than hiding one.
 */
export function reportDeadExports() {
  const files = sources().map((file) => ({ file, text: fs.readFileSync(file, 'utf8') }));
  const used = new Set(files.flatMap(({ file, text }) => usesOf(file, text)));
  const dead = files.flatMap(({ file, text }) =>
    exportsOf(text)
      .filter((name) => !used.has(`${file}#${name}`))
      .map((name) => `${path.relative(root, file)}: ${name}`),
  );
  for (const line of dead) console.log(`  nobody imports ${line}`);
  return dead.length;
}

const packages = path.join(root, 'packages');

const sources = () =>
  fs
    .readdirSync(packages)
    .flatMap((room) => ['src', 'test', 'bench', 'fuzz'].map((folder) => path.join(packages, room, folder)))
    .filter((folder) => fs.existsSync(folder))
    .flatMap((folder) => fs.readdirSync(folder, { recursive: true }).map((file) => path.join(folder, file)))
    .filter((file) => file.endsWith('.ts'));

function exportsOf(text) {
  const values = [...text.matchAll(/^export (?:async )?(?:const|let|function\*?|class) (\w+)/gm)].map(
    ([, name]) => name,
  );
  const types = [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name);
  const listed = [...text.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, list]) =>
    namesIn(list.replaceAll(/\btype \w+/g, '')),
  );
  const usedHere = (name) => text.match(new RegExp(`\\b${name}\\b`, 'g')).length > 1;
  return [...values, ...types.filter((name) => !usedHere(name)), ...listed.map(([, outer]) => outer)];
}

/** Each use as "file#name". */
function usesOf(file, text) {
  const listed = /^(import|export) (?:type )?(?:\w+, )?\{([^}]*)\} from '([^']+)'/gm;
  const whole = /(?:^import \w+(?:, \{[^}]*\})? from |^(?:import|export) \* (?:as \w+ )?from |\bimport\()'([^']+)'/gm;
  return [
    ...[...text.matchAll(listed)].flatMap(([, , list, from]) =>
      namesIn(list).map(([inner]) => `${resolve(file, from)}#${inner}`),
    ),
    // Whoever takes a file as a whole may use all of it.
    ...[...text.matchAll(whole)].flatMap(([, from]) => everythingIn(resolve(file, from))),
    ...[...text.matchAll(/\bimport\('([^']+)'\)\.(\w+)/g)].map(([, from, name]) => `${resolve(file, from)}#${name}`),
  ];
}

function everythingIn(file) {
  return fs.existsSync(file) && file.endsWith('.ts')
    ? exportsOf(fs.readFileSync(file, 'utf8')).map((name) => `${file}#${name}`)
    : [];
}

/** `a, type b as c` gives [a, a] and [b, c]: the name in the file it comes from, and the name it gets. */
const namesIn = (list) =>
  list
    .replaceAll(/\/\/.*$/gm, '')
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => part.split(' as '))
    .map(([inner, outer = inner]) => [inner, outer]);

/** Files by their path, rooms by their door, everything else as it is. */
function resolve(file, from) {
  if (from.startsWith('.')) return path.resolve(path.dirname(file), from);
  const [, room, below] = /^@cluster-apiserver\/([^/]+)(\/.+)?$/.exec(from) ?? [];
  if (!room) return from;
  return path.join(packages, room, 'src', below ? `${below.slice(1)}/index.ts` : 'index.ts');
}
