import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { withScratchFolder, librariesOf, mirror, runOrFail, refreshPackages, unpack } from './debian.mjs';
import { provisionPrometheus } from './prometheus.mjs';
import { cache, Failure, root } from './project.mjs';

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
    importImage(image, (folder) => make(folder, { node, etcd, etcdctl, env }), env);
  }
}

/**
 * The images of the profiles of docker-compose.yml, by service. Without a registry they are made of programs that the
 * environment names (DEX_BIN, JAEGER_BIN) or that the toolchain has. Returns the services whose image there is.
 */
export function provideProfileImages(docker, { env }) {
  return profileImages()
    .filter(({ image, program, place, changes }) => {
      if (docker(['image', 'inspect', image]).ok || docker(['pull', image], { timeout: pullTimeoutMs }).ok) return true;
      const file = program();
      if (!file) return false;
      console.log(`Building ${image} from ${path.basename(file)} …`);
      refreshPackages();
      importImage(
        image,
        (folder) => {
          unpack(folder, ['libc6', 'ca-certificates']);
          fs.mkdirSync(path.dirname(path.join(folder, place)), { recursive: true });
          fs.copyFileSync(file, path.join(folder, place));
          return changes;
        },
        env,
      );
      return true;
    })
    .map(({ service }) => service);
}

/** Imports a folder as an image, with the changes (as in a Dockerfile) that filling it returns. */
function importImage(image, fill, env) {
  withScratchFolder((folder) => {
    const options = (fill(folder) ?? []).flatMap((change) => ['--change', change]);
    const script = 'folder=$1; shift; tar -C "$folder" -c . | docker import "$@"';
    const imported = step('sh', ['-c', script, 'sh', folder, ...options, '-', image], { env });
    if (!imported.ok) throw new Failure(`${image} could not be imported.\n${imported.output}`);
  });
}

/** An engine without a registry gives up much sooner by itself. */
const pullTimeoutMs = 300_000;
const debian = 'bookworm';
/** Built by collector.mjs. */
const collector = path.join(cache, 'otel-collector', 'otel-collector');

const dockerfile = path.join('deploy', 'Dockerfile');
const composeFile = 'docker-compose.yml';

const wanted = () => [
  { image: defaultImage(dockerfile, 'NODE_IMAGE'), make: makeNode },
  { image: defaultImage(dockerfile, 'RUNTIME_IMAGE'), make: makeRuntime },
  { image: defaultImage(composeFile, 'ETCD_IMAGE'), make: makeEtcd },
  { image: defaultImage(composeFile, 'HAPROXY_IMAGE'), make: makeHaproxy },
];

const profileImages = () => [
  {
    service: 'dex',
    image: defaultImage(composeFile, 'DEX_IMAGE'),
    program: () => process.env.DEX_BIN,
    place: 'usr/local/bin/dex',
  },
  {
    service: 'prometheus',
    image: defaultImage(composeFile, 'PROMETHEUS_IMAGE'),
    program: () => fileOf(provisionPrometheus()?.prometheus ?? 'prometheus'),
    place: 'bin/prometheus',
  },
  {
    service: 'otel-collector',
    image: defaultImage(composeFile, 'COLLECTOR_IMAGE'),
    program: () => (fs.existsSync(collector) ? collector : undefined),
    place: 'otelcol',
    changes: ['ENTRYPOINT ["/otelcol"]'],
  },
  {
    service: 'jaeger',
    image: defaultImage(composeFile, 'JAEGER_IMAGE'),
    program: () => process.env.JAEGER_BIN,
    place: 'cmd/jaeger/jaeger-linux',
    changes: ['ENTRYPOINT ["/cmd/jaeger/jaeger-linux"]', 'ENV JAEGER_LISTEN_HOST=0.0.0.0'],
  },
  { service: 'grafana', image: defaultImage(composeFile, 'GRAFANA_IMAGE'), program: () => undefined },
];

/** The image that a file names as the default of a variable. */
const defaultImage = (file, name) =>
  new RegExp(`${name}(?:=|:-)([^\\s}]+)`).exec(fs.readFileSync(path.join(root, file), 'utf8'))[1];

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
const fileOf = (program) => (path.isAbsolute(program) ? program : outputOf('which', [program])?.trim());

function makeHaproxy(folder) {
  unpack(folder, ['haproxy', 'zlib1g', ...librariesOf('haproxy')]);
}
