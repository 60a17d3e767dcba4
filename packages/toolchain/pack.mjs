#!/usr/bin/env node
// npm run pack: makes the npm packages that users install, as archives below .cache/pack. `npm run pack -- expressions`
// makes one. The packages of this project that one needs are inside of it; those of others are its dependencies.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { buildPackages, manifestOf, scope } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { binary, cache, Failure, main, root } from './project.mjs';
import { version } from './version.mjs';

const target = path.join(cache, 'pack');

/** What is packed: the packages that it begins with, and what its manifest says. */
const products = {
  'cluster-apiserver': {
    from: ['devcluster'],
    manifest: { bin: { 'cluster-apiserver': `node_modules/${scope}devcluster/dist/cluster-apiserver.js` } },
    readme: 'README.md',
  },
  expressions: {
    from: ['expressions'],
    manifest: {
      name: `${scope}expressions`,
      exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
    },
    readme: 'packages/expressions/README.md',
    entry: path.join('dist', 'index'),
  },
};

await main((names) => {
  const tools = prepare();
  buildPackages(tools);
  for (const name of names.length > 0 ? names : Object.keys(products)) {
    if (!products[name]) throw new Failure(`There is no package ${name}, only ${Object.keys(products).join(' and ')}.`);
    console.log(path.relative(root, pack(name, products[name], tools)));
  }
});

/** Returns the archive. */
function pack(name, { from, manifest, readme, entry }, { env }) {
  const folder = path.join(target, name);
  fs.rmSync(folder, { recursive: true, force: true });
  const parts = withDependencies(from);
  const types = entry ? declare(parts, env) : undefined;
  // A package that is named itself is the outer one; all others are inside of it.
  const outer = manifest.name ? from[0] : undefined;
  const inner = parts.filter((part) => part !== outer);
  for (const part of parts) {
    const place = part === outer ? folder : path.join(folder, 'node_modules', scope, part);
    copyBuilt(part, place, types);
    if (part !== outer) write(path.join(place, 'package.json'), innerManifest(part));
  }
  const used = entry ? keepReachable(folder, entry) : undefined;
  const own = read('package.json');
  write(path.join(folder, 'package.json'), {
    name,
    version,
    description: manifestOf(outer ?? 'toolchain').description ?? own.description,
    license: own.license,
    type: 'module',
    engines: own.engines,
    ...manifest,
    files: ['dist'],
    dependencies: {
      ...externalDependencies(parts, { used, isProgram: Boolean(manifest.bin) }),
      ...Object.fromEntries(inner.map((part) => [scope + part, version])),
    },
    bundleDependencies: inner.map((part) => scope + part),
  });
  fs.copyFileSync(path.join(root, readme), path.join(folder, 'README.md'));
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'));
  const packed = outputOf('npm', ['pack', '--json', '--pack-destination', target], { cwd: folder, env });
  if (!packed) throw new Failure(`npm pack failed in ${folder}.`);
  const [{ filename }] = Object.values(JSON.parse(packed));
  return path.join(target, filename);
}

/** The packages of the project that these need, with themselves. */
function withDependencies(names) {
  const found = new Set(names);
  for (const name of found)
    for (const dependency of Object.keys(manifestOf(name).dependencies ?? {}))
      if (dependency.startsWith(scope)) found.add(dependency.slice(scope.length));
  return [...found];
}

/**
 * Of these parts, and only what is `used` if that is known. A program has the versions of the lock file, which were tested; a
 * library leaves them to the program that uses it.
 */
function externalDependencies(parts, { used, isProgram }) {
  const { packages } = read('package-lock.json');
  const lockedFor = (part, name) =>
    (packages[`packages/${part}/node_modules/${name}`] ?? packages[`node_modules/${name}`]).version;
  return Object.fromEntries(
    parts
      .flatMap((part) =>
        Object.entries(manifestOf(part).dependencies ?? {}).map(([name, range]) => [
          name,
          isProgram && !name.startsWith(scope) ? lockedFor(part, name) : range,
        ]),
      )
      .filter(([name]) => !name.startsWith(scope) && (used?.has(name) ?? true))
      .sort(),
  );
}

/**
 * Removes the files of the parts that a library does not import. Returns the packages of others that it does.
 * @returns {Set<string>}
 */
function keepReachable(folder, entry) {
  const reached = new Set();
  const others = new Set();
  for (const ending of ['.js', '.d.ts']) {
    const files = new Set([path.join(folder, entry + ending)]);
    for (const file of files) {
      for (const [, from] of fs
        .readFileSync(file, 'utf8')
        .matchAll(/^(?:import|export)\b[^'"]*?['"]([^'"]+)['"];$/gm)) {
        if (from.startsWith('.')) files.add(path.resolve(path.dirname(file), from).replace(/\.[jt]s$/, '') + ending);
        else if (from.startsWith(scope)) files.add(path.join(folder, 'node_modules', indexOf(from)) + ending);
        else if (ending === '.js') others.add(from);
      }
    }
    for (const file of files) reached.add(file);
  }
  for (const name of fs.readdirSync(folder, { encoding: 'utf8', recursive: true })) {
    const file = path.join(folder, name);
    if (/\.(js|d\.ts)$/.test(name) && !reached.has(file)) fs.rmSync(file);
  }
  return others;
}

/** Where the built index of a package, or of a part of it, is. */
function indexOf(from) {
  const [part = '', ...inner] = from.slice(scope.length).split('/');
  return path.join(scope, part, 'dist', ...inner, 'index');
}

function innerManifest(part) {
  const { name, type, license, exports } = manifestOf(part);
  const built = Object.entries(exports ?? {}).map(([entry, { default: file }]) => [
    entry,
    { types: file.replace(/\.js$/, '.d.ts'), default: file },
  ]);
  return { name, version, license, type, ...(built.length > 0 && { exports: Object.fromEntries(built) }) };
}

function copyBuilt(part, place, types) {
  const copy = (from) =>
    fs.cpSync(from, path.join(place, 'dist'), {
      recursive: true,
      filter: (file) => !/\.map$|[./]test\b/.test(path.relative(from, file)),
    });
  copy(path.join(root, 'packages', part, 'dist'));
  if (types) copy(path.join(types, part, 'src'));
}

/** Writes the declarations of these packages, and returns their folder. */
function declare(parts, env) {
  const folder = path.join(target, 'types');
  const settings = path.join(target, 'tsconfig.json');
  fs.mkdirSync(target, { recursive: true });
  write(settings, {
    extends: path.join(root, 'packages', 'toolchain', 'tsconfig.build.json'),
    include: parts.map((part) => path.join(root, 'packages', part, 'src')),
  });
  const options = ['--declaration', '--emitDeclarationOnly', '--sourceMap', 'false', '--inlineSources', 'false'];
  const { ok, output } = step(binary('tsc'), ['-p', settings, ...options, '--outDir', folder], { env });
  if (!ok) throw new Failure(`The declarations could not be written.\n${output}`);
  return folder;
}

function read(file) {
  return JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
}

function write(file, content) {
  fs.writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}
