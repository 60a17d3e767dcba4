/**
 * Prints a replica's CPU time by package, in microseconds per request, from a V8 profile:
 * `node --conditions=source packages/tests/bench/cpu-by-package.ts FILE.cpuprofile REQUESTS [SECONDS TO SKIP AT THE START]`
 * A server that is started with `--cpu-prof` writes the profile when it stops.
 */
import fs from 'node:fs';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  /** Microseconds since the previous sample. */
  readonly timeDeltas: readonly number[];
}

const [file = '', requests = '1', leftOut = '0'] = process.argv.slice(2);
const { nodes, samples, timeDeltas } = JSON.parse(fs.readFileSync(file, 'utf8')) as Profile;

const bundles = new Map<string, ReturnType<typeof packagesByLine>>();
const placeOf = new Map(nodes.map(({ id, callFrame }) => [id, place(callFrame)]));
const spent = new Map<string, number>();
let at = 0;
samples.forEach((id, n) => {
  const delta = timeDeltas[n] ?? 0;
  at += delta;
  const where = placeOf.get(id);
  if (at < Number(leftOut) * 1e6 || where === undefined) return;
  spent.set(where, (spent.get(where) ?? 0) + delta);
});
const all = [...spent.values()].reduce((sum, one) => sum + one, 0);
const line = (where: string, microseconds: number): void =>
  console.log(
    `${where.padEnd(20)} ${(microseconds / Number(requests)).toFixed(1).padStart(8)} us  ${((100 * microseconds) / all).toFixed(0).padStart(3)} %`,
  );
for (const [where, microseconds] of [...spent].sort(([, one], [, other]) => other - one)) line(where, microseconds);
line('in all', all);

/** The package or runtime part that a frame belongs to; undefined while idle. */
function place({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string | undefined {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'the collector';
  const packageName = bundledPackage(url, lineNumber) ?? /\/packages\/([^/]+)\//.exec(url)?.[1];
  if (packageName) return packageName;
  if (url.startsWith('node:'))
    return /_http|net|tls|stream|http2|event|task_queues/.test(url) ? "Node's HTTP" : 'Node, else';
  // Frames without a file belong to Node and V8; nearly all of them read from or write to sockets.
  return url === '' ? 'sockets, TLS, V8' : 'packages from npm';
}

/** The bundle of the server names each module in a comment above it. */
function bundledPackage(url: string, lineNumber: number): string | undefined {
  if (!url.endsWith('/server/dist/program.js')) return undefined;
  if (!bundles.has(url)) bundles.set(url, packagesByLine(fs.readFileSync(new URL(url), 'utf8').split('\n')));
  return bundles.get(url)?.[lineNumber];
}

function packagesByLine(lines: readonly string[]): readonly (string | undefined)[] {
  let present: string | undefined;
  return lines.map((line) => (present = /^\/\/ ([\w-]+)\/src\//.exec(line)?.[1] ?? present));
}
