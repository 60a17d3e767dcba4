import fs from 'node:fs';
import path from 'node:path';
import { step } from './child.mjs';
import { binary, cache, Failure, root } from './project.mjs';
import { describeRevision } from './version.mjs';

/**
 * Compiles every package to JavaScript in its dist folder, in a second or two: it only strips types, and `npm run check`
 * checks them. Returns whether a package differs from the one before.
 */
export function buildPackages({ env }) {
  fs.mkdirSync(cache, { recursive: true });
  const state = describeSources();
  if (isBuilt(state)) return false;
  // As deep as the dist folders, so that source maps name the sources from both.
  const built = fs.mkdtempSync(path.join(root, '.build-'));
  let hasChanged = false;
  try {
    const settings = path.join('packages', 'toolchain', 'tsconfig.build.json');
    const { ok, output } = step(binary('tsc'), ['-p', settings, '--outDir', built], { env });
    if (!ok) throw new Failure(`The packages could not be built.\n${output}`);
    bundleServer(built, env);
    stampServer(path.join(built, 'server', 'src'));
    for (const name of fs.readdirSync(built)) {
      const fresh = path.join(built, name, 'src');
      const dist = path.join(root, 'packages', name, 'dist');
      // A cluster may be running from the current files, so unchanged packages are not replaced.
      if (haveSameFiles(fresh, dist)) continue;
      fs.rmSync(dist, { recursive: true, force: true });
      fs.renameSync(fresh, dist);
      hasChanged = true;
    }
    fs.writeFileSync(stamp, state);
    return hasChanged;
  } finally {
    fs.rmSync(built, { recursive: true, force: true });
  }
}

/** What was built last. */
const stamp = path.join(cache, 'built');

/** Whether these sources are those of the last build, whose results are still there. */
const isBuilt = (state) =>
  fs.existsSync(stamp) &&
  fs.readFileSync(stamp, 'utf8') === state &&
  fs.existsSync(path.join(root, 'packages', 'server', 'dist', 'main.js'));

/** Revision, names and times of all sources. */
function describeSources() {
  const packages = path.join(root, 'packages');
  const lines = fs.readdirSync(packages).flatMap((name) => {
    const folder = path.join(packages, name, 'src');
    return filesIn(folder).map((file) => `${name}/${file} ${fs.statSync(path.join(folder, file)).mtimeMs}`);
  });
  return [JSON.stringify(describeRevision() ?? {}), ...lines].join('\n');
}

/**
 * Makes one file of the server's program and the packages that it consists of, which Node loads in half the time. The packages of others stay where npm puts them (docs/decisions/0003-toolchain.md).
 */
function bundleServer(built, env) {
  const names = fs.readdirSync(built);
  const paths = Object.fromEntries(names.flatMap((name) => [...ownEntries(built, name), ...nestedPackages(name)]));
  const dependencies = names.flatMap((name) => Object.keys(manifestOf(name).dependencies ?? {}));
  const others = dependencies.filter((name) => !name.startsWith(scope) && !paths[name]);
  const { ok, output } = step(
    binary('esbuild'),
    [
      'server/src/program.js',
      ...['--outdir=server/src', '--allow-overwrite', '--chunk-names=program/[name]-[hash]'],
      ...['--bundle', '--splitting', '--format=esm', '--platform=node', '--target=node24', '--sourcemap'],
      '--log-level=warning',
      `--tsconfig-raw=${JSON.stringify({ compilerOptions: { paths } })}`,
      ...others.map((name) => `--external:${name}`),
    ],
    // Equal sources give equal files, wherever they are built.
    { env, cwd: built },
  );
  if (!ok) throw new Failure(`The server could not be bundled.\n${output}`);
}

/** Where the names of the project's packages begin. */
export const scope = '@cluster-apiserver/';

export const manifestOf = (name) =>
  JSON.parse(fs.readFileSync(path.join(root, 'packages', name, 'package.json'), 'utf8'));

/** What a package exports, and where it has just been built. */
const ownEntries = (built, name) =>
  Object.entries(manifestOf(name).exports ?? {}).map(([entry, { default: file }]) => [
    path.posix.join(scope + name, entry),
    [path.join(built, name, file.replace(/^\.\/dist\//, 'src/'))],
  ]);

/** The packages of others of which npm gives this package a version of its own. The server finds these only in the bundle. */
const nestedPackages = (name) =>
  Object.keys(manifestOf(name).dependencies ?? {})
    .map((dependency) => [dependency, [path.join(root, 'packages', name, 'node_modules', dependency)]])
    .filter(([, [folder]]) => fs.existsSync(folder));

/** Leaves beside the program what `/version` says of the sources. */
function stampServer(folder) {
  const revision = describeRevision();
  if (revision) fs.writeFileSync(path.join(folder, 'build.json'), `${JSON.stringify(revision)}\n`);
}

function haveSameFiles(one, other) {
  const files = filesIn(one);
  const content = (folder, file) => fs.readFileSync(path.join(folder, file));
  return (
    files.join() === filesIn(other).join() && files.every((file) => content(one, file).equals(content(other, file)))
  );
}

const filesIn = (folder) =>
  fs.existsSync(folder)
    ? fs
        .readdirSync(folder, { encoding: 'utf8', recursive: true })
        .filter((name) => fs.statSync(path.join(folder, name)).isFile())
        .sort()
    : [];
