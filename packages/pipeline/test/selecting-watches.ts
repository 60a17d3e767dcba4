/**
 * Opens watches with the largest selectors until a user may open no more, in a separate process whose heap is limited.
 * Prints for each kind of selector how many there were, and how much memory each of them takes.
 */
import v8 from 'node:v8';
import vm from 'node:vm';
import type { UserInfo } from '@cluster-apiserver/model';
import { robotKind } from '../../registry/test/robot-kind.ts';
import type { Sink } from '../src/exchange.ts';
import { openPipeline } from './open-pipeline.ts';

v8.setFlagsFromString('--expose-gc');
const collectGarbage: () => void = vm.runInNewContext('gc');
const usedBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

const terms = 1_000;
const characters = 32_000;
const repeated = (count: number, term: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => term(n)).join(',');
const wide = (count: number): number => Math.floor(characters / count);

/** Selectors that differ for each watch, because watches with equal selectors share much. */
const selectors: Readonly<Record<string, (watch: number) => string>> = {
  absent: (watch) => `labelSelector=${repeated(terms, (n) => `!a${watch}-${n}`)}`,
  bounds: (watch) => `labelSelector=${repeated(terms, (n) => `a${watch}-${n}>1`)}`,
  sets: (watch) => `labelSelector=${repeated(terms / 2, (n) => `a${watch}-${n} in (a,b)`)}`,
  'long keys': (watch) => `labelSelector=${repeated(500, (n) => `${'a'.repeat(wide(500) - 15)}${watch}-${n}`)}`,
  fields: (watch) => `fieldSelector=${repeated(terms, (n) => `metadata.name!=a${watch}-${n}`)}`,
  none: (watch) => `resourceVersion=1&timeoutSeconds=${1_000 + watch}`,
};
const watchesMax = 1_000;

const open = new AbortController().signal;
const sink: Sink = {
  signal: open,
  draining: open,
  backlogBytes: 0,
  write: () => {},
  drained: () => Promise.resolve(),
};
for (const [name, selectorOf] of Object.entries(selectors)) {
  const user: UserInfo = { name, groups: [] };
  // Of its own: all users together have a limit, too.
  const pipeline = await openPipeline({ kinds: [robotKind], chain: { authenticator: { authenticate: () => user } } });
  const before = usedBytes();
  let watches = 0;
  let refused = 'none';
  for (; watches < watchesMax && refused === 'none'; watches++) {
    const target = `/api/v1/namespaces/n/robots?watch=true&${encodeURI(selectorOf(watches))}`;
    const { status, stream } = await pipeline.ask('GET', target);
    if (stream) void stream(sink);
    else refused = `${status}`;
  }
  process.stdout.write(`${name}: ${watches} ${refused} ${Math.round((usedBytes() - before) / watches)}\n`);
  await pipeline.close();
}
process.exit(0);
