import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { withScratchFolder, librariesOf, mirror, runOrFail, refreshPackages, unpack } from './debian.mjs';
import { Failure, root } from './project.mjs';

/**
 * The base images of deploy/Dockerfile and docker-compose.yml. An engine with access to a registry pulls them.
 * Otherwise, as root on Debian, they are built from Debian packages under the same names: other builds of the same
 * programs, sufficient to build and run our images.
 */
export function provideBaseImages(docker, { node, etcd, etcdctl, env }) {
  const missing = wanted().filter(({ image }) => !docker(['image', 'inspect', image]).ok);
  if (missing.length === 0) return;
  // One attempt is enough: if the first image cannot be pulled, there is no registry.
  const pulled = docker(['pull', missing[0].image], { timeout: pullTimeoutMs }).ok;
  if (!pulled) refreshPackages();
  for (const { image, make } of missing) {
    if (pulled && docker(['pull', image]).ok) continue;
    console.log(`Building ${image} from Debian packages …`);
    withScratchFolder((folder) => {
      const changes = make(folder, { node, etcd, etcdctl, env }) ?? [];
      const options = changes.flatMap((change) => ['--change', change]);
      const script = 'folder=$1; shift; tar -C "$folder" -c . | docker import "$@"';
      const imported = step('sh', ['-c', script, 'sh', folder, ...options, '-', image], { env });
      if (!imported.ok) throw new Failure(`${image} could not be imported.\n${imported.output}`);
    });
  }
}

/** An engine without a registry gives up much sooner by itself. */
const pullTimeoutMs = 300_000;
const debian = 'bookworm';

function wanted() {
  const dockerfile = fs.readFileSync(path.join(root, 'deploy', 'Dockerfile'), 'utf8');
  const compose = fs.readFileSync(path.join(root, 'docker-compose.yml'), 'utf8');
  const defaultOf = (text, name) => new RegExp(`${name}(?:=|:-)([^\\s}]+)`).exec(text)[1];
  return [
    { image: defaultOf(dockerfile, 'NODE_IMAGE'), make: makeNode },
    { image: defaultOf(dockerfile, 'RUNTIME_IMAGE'), make: makeRuntime },
    { image: defaultOf(compose, 'ETCD_IMAGE'), make: makeEtcd },
    { image: defaultOf(compose, 'HAPROXY_IMAGE'), make: makeHaproxy },
  ];
}

const cLibraries = ['libc6', 'libgcc-s1', 'libstdc++6'];

/** Debian with a shell, Node, npm and the CA certificates that this machine trusts. */
function makeNode(folder, { node, env }) {
  runOrFail('debootstrap', ['--variant=minbase', '--include=ca-certificates', debian, folder, mirror()], { env });
  fs.rmSync(path.join(folder, 'var', 'cache', 'apt'), { recursive: true, force: true });
  const bin = path.join(folder, 'usr', 'local', 'bin');
  fs.copyFileSync(node, path.join(bin, 'node'));
  const npm = path.join(fs.realpathSync(outputOf('which', ['npm'], { env }).trim()), '..', '..');
  fs.cpSync(npm, path.join(folder, 'usr', 'local', 'lib', 'node_modules', 'npm'), { recursive: true });
  fs.symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(bin, 'npm'));
  const authorities = env.NODE_EXTRA_CA_CERTS;
  if (!authorities) return [];
  fs.copyFileSync(authorities, path.join(folder, 'etc', 'ssl', 'extra-authorities.pem'));
  return ['ENV NODE_EXTRA_CA_CERTS=/etc/ssl/extra-authorities.pem'];
}

function makeRuntime(folder) {
  unpack(folder, [...cLibraries, 'ca-certificates', 'tzdata', 'base-files', 'netbase']);
  fs.writeFileSync(
    path.join(folder, 'etc', 'passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n',
  );
  fs.writeFileSync(path.join(folder, 'etc', 'nsswitch.conf'), 'hosts: files dns\n');
}

function makeEtcd(folder, { etcd, etcdctl }) {
  if (!etcdctl) throw new Failure('The etcd image needs etcdctl for its health check, but etcdctl was not found.');
  unpack(folder, ['libc6']);
  const bin = path.join(folder, 'usr', 'local', 'bin');
  fs.mkdirSync(bin, { recursive: true });
  fs.copyFileSync(fileOf(etcd), path.join(bin, 'etcd'));
  fs.copyFileSync(fileOf(etcdctl), path.join(bin, 'etcdctl'));
}

/** Resolves a program that is named by its place on the PATH. */
const fileOf = (program) => (path.isAbsolute(program) ? program : outputOf('which', [program]).trim());

function makeHaproxy(folder) {
  unpack(folder, ['haproxy', 'zlib1g', ...librariesOf('haproxy')]);
}
