import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { inScratch, librariesOf, mirror, must, refreshPackages, unpack } from './debian.mjs';
import { Failure, root } from './project.mjs';

/**
 * The images that deploy/Dockerfile and docker-compose.yml begin with. An engine that reaches a registry pulls them.
 * Elsewhere they are made of Debian's packages, under the same names, as root on Debian: what they hold is another build
 * of the same programs, good enough to build and run ours.
 */
export function provideBaseImages(docker, { node, etcd, etcdctl, env }) {
  const missing = wanted().filter(({ image }) => !docker(['image', 'inspect', image]).ok);
  if (missing.length === 0) return;
  // One answer is enough: where the first one cannot be pulled, there is no registry.
  const pulled = docker(['pull', missing[0].image], { timeout: pullTimeoutMs }).ok;
  if (!pulled) refreshPackages();
  for (const { image, make } of missing) {
    if (pulled && docker(['pull', image]).ok) continue;
    console.log(`Making ${image} of Debian's packages …`);
    inScratch((folder) => {
      const changes = make(folder, { node, etcd, etcdctl, env }) ?? [];
      const options = changes.flatMap((change) => ['--change', change]);
      const script = 'folder=$1; shift; tar -C "$folder" -c . | docker import "$@"';
      const imported = step('sh', ['-c', script, 'sh', folder, ...options, '-', image], { env });
      if (!imported.ok) throw new Failure(`${image} could not be imported.\n${imported.output}`);
    });
  }
}

/** An engine that reaches nobody gives up by itself, much sooner. */
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

/** Debian with a shell, Node and npm, which trusts whom this machine trusts. */
function makeNode(folder, { node, env }) {
  must('debootstrap', ['--variant=minbase', '--include=ca-certificates', debian, folder, mirror()], { env });
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
  if (!etcdctl) throw new Failure('The image of etcd needs etcdctl for its health check, and there is none.');
  unpack(folder, ['libc6']);
  const bin = path.join(folder, 'usr', 'local', 'bin');
  fs.mkdirSync(bin, { recursive: true });
  fs.copyFileSync(fileOf(etcd), path.join(bin, 'etcd'));
  fs.copyFileSync(fileOf(etcdctl), path.join(bin, 'etcdctl'));
}

/** A program may be named by its place on the PATH. */
const fileOf = (program) => (path.isAbsolute(program) ? program : outputOf('which', [program]).trim());

function makeHaproxy(folder) {
  unpack(folder, ['haproxy', 'zlib1g', ...librariesOf('haproxy')]);
}
