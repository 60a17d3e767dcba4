import fs from 'node:fs';
import path from 'node:path';
import { step } from './child.mjs';
import { binary, cache, Failure, root } from './project.mjs';
import { describeRevision } from './version.mjs';

/**
 * Compiles every package to JavaScript in its dist folder. It only strips types, which takes less than a second; `npm
 * run check` checks them.
 */
export function buildPackages({ env }) {
  fs.mkdirSync(cache, { recursive: true });
  const state = describeSources();
  if (isBuilt(state)) return;
  const built = fs.mkdtempSync(path.join(cache, 'build-'));
  try {
    const settings = path.join('packages', 'toolchain', 'tsconfig.build.json');
    const { ok, output } = step(binary('tsc'), ['-p', settings, '--outDir', built], { env });
    if (!ok) throw new Failure(`The packages could not be built.\n${output}`);
    stampServer(path.join(built, 'server', 'src'));
    for (const name of fs.readdirSync(built)) {
      const fresh = path.join(built, name, 'src');
      const dist = path.join(root, 'packages', name, 'dist');
      // A cluster may be running from the current files, so unchanged packages are not replaced.
      if (haveSameFiles(fresh, dist)) continue;
      fs.rmSync(dist, { recursive: true, force: true });
      fs.renameSync(fresh, dist);
    }
    fs.writeFileSync(stamp, state);
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
