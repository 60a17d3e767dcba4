/**
 * The fuzzer: `npm run fuzz -- [--inputs N] [--seed N] [--only NUMBERS] [--batch N]`. The toolchain builds the server,
 * starts it with encryption and its own etcd, and passes `--home`.
 */
import fs from 'node:fs';
import { parseArgs } from 'node:util';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { allKeys } from '@cluster-apiserver/testkit/etcd-gateway';
import { clusterFiles, readProcessState, waitUntilReady } from '../test/hostile/server-process.ts';
import type { FuzzContext } from './input.ts';
import { errorLines, signatureOf } from './check-response.ts';
import { parseNumbers } from './numbers.ts';
import { describeInput, type Fault, type Run, runInputs } from './run-inputs.ts';
import { growthFaults, prepareContext, deleteObjects, waitUntilAtRest, serverOf, startPoliteClient } from './server.ts';
import { shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    inputs: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    batch: { type: 'string', default: '10000' },
  },
});

const seed = Number(values.seed);
const only = values.only === undefined ? undefined : parseNumbers(values.only);
const inputs = only?.length ?? Number(values.inputs);
const batchSize = Math.max(1, Math.min(Number(values.batch), Math.ceil(inputs / 4)));
/** The server's heap first grows to its working size. */
const warmUpBatches = 2;
const growthMaxMiB = 100;
const crashPollMs = 100;
/** An input may end the process with a short delay. */
const aftermathMs = 500;
const shrinkRunsMax = 40;
const repeatedInputs = 100;
const shownFaultsMax = 12;

const files = clusterFiles(values.home ?? '');
await waitUntilReady(files);
const server = serverOf(files);
const context: FuzzContext = await prepareContext(server);
const seen = new Map<string, { readonly first: Fault; times: number; readonly kinds: Set<string> }>();

/** Counts a fault; returns whether it is the first of its kind. */
function record(fault: Fault): boolean {
  const signature = signatureOf(fault.text);
  const known = seen.get(signature);
  if (known) {
    known.times++;
    known.kinds.add(fault.kind);
    return false;
  }
  seen.set(signature, { first: fault, times: 1, kinds: new Set([fault.kind]) });
  return true;
}

interface Batch extends Run {
  /** Whether the server's process ended. */
  readonly crashed: boolean;
  readonly logged: readonly string[];
}

async function runBatch(numbers: readonly number[]): Promise<Batch> {
  const { pid, url } = files.replica();
  const loggedBefore = files.log().length;
  const stopping = new AbortController();
  const over = new AbortController();
  void (async () => {
    while (!over.signal.aborted) {
      if (!readProcessState(pid)) stopping.abort();
      await sleep(clock, crashPollMs);
    }
  })();
  const target = { port: Number(new URL(url).port), ca: fs.readFileSync(files.ca) };
  const run = await runInputs(numbers, { seed, context, target, signal: stopping.signal });
  if (only || numbers.length < batchSize) await sleep(clock, aftermathMs);
  over.abort();
  const crashed = readProcessState(pid) === undefined;
  if (crashed) await waitUntilReady(files);
  return { ...run, crashed, logged: errorLines(files.log().slice(loggedBefore)) };
}

/** Finds the fewest inputs that make a batch fail the same way, and prints how to repeat them. */
async function report(what: string, suspects: readonly number[], fails: (batch: Batch) => boolean): Promise<void> {
  // A fault may depend on the boundaries of socket reads, so small sets of inputs are sent repeatedly.
  const repeated = (numbers: readonly number[]): number[] =>
    new Array<readonly number[]>(Math.max(1, Math.floor(repeatedInputs / numbers.length))).fill(numbers).flat();
  const smallest = await shrink(suspects, async (some) => fails(await runBatch(repeated(some))), shrinkRunsMax);
  if (!smallest) return console.log(`  ${what}: sending the ${suspects.length} suspects again does not repeat it`);
  console.log(`  ${what}, repeated by: npm run fuzz -- --seed ${seed} --only ${smallest.join(',')}`);
  for (const number of smallest.slice(0, 3)) console.log(`    ${describeInput(seed, number, context)}`);
}

const numbers = only ?? Array.from({ length: inputs }, (_, at) => at);
if (only) for (const number of only) console.log(`${number}: ${describeInput(seed, number, context)}`);
console.log(`seed ${seed}: ${inputs} inputs in batches of ${batchSize}`);
const outcomes: Record<string, number> = {};
const kinds: Record<string, number> = {};
// With the descriptors of the inspector.
const idle = await waitUntilAtRest(server, Number.POSITIVE_INFINITY);
let compared = idle;
let politeLongestMs = 0;
const beganMs = clock.monotonicMs();
let sendingMs = 0;
for (let batch = 0; batch * batchSize < numbers.length; batch++) {
  const polite = startPoliteClient(server);
  const batchBeganMs = clock.monotonicMs();
  const run = await runBatch(numbers.slice(batch * batchSize, (batch + 1) * batchSize));
  const tookMs = clock.monotonicMs() - batchBeganMs;
  sendingMs += tookMs;
  await polite.stop();
  politeLongestMs = Math.max(politeLongestMs, polite.longestMs());
  for (const [name, times] of Object.entries(run.outcomes)) outcomes[name] = (outcomes[name] ?? 0) + times;
  for (const [name, times] of Object.entries(run.kinds)) kinds[name] = (kinds[name] ?? 0) + times;

  const isNew = run.faults.filter(record);
  for (const { number, kind, text } of isNew.slice(0, shownFaultsMax))
    console.log(`  ${kind}, input ${number}: ${text.slice(0, 300)}\n    ${describeInput(seed, number ?? 0, context)}`);
  if (run.crashed) {
    if (record({ number: undefined, kind: 'process', text: `the process ended: ${run.logged[0] ?? 'no log line'}` }))
      await report('the process ended', run.suspects, ({ crashed }) => crashed);
  } else {
    for (const text of polite.faults) record({ number: undefined, kind: 'polite client', text });
    const newLines = run.logged.filter((text) => record({ number: undefined, kind: 'log', text: withoutTime(text) }));
    for (const line of newLines.slice(0, shownFaultsMax)) console.log(`  log: ${line.slice(0, 500)}`);
    // A response of 500 and its log line are one fault; the response identifies the input.
    if (newLines.length > 0 && run.faults.length === 0) {
      const signature = signatureOf(withoutTime(newLines[0] ?? ''));
      await report('the log line', numbers.slice(batch * batchSize, (batch + 1) * batchSize), ({ logged }) =>
        logged.some((line) => signatureOf(withoutTime(line)) === signature),
      );
    }
  }
  await deleteObjects(server);
  const state = await waitUntilAtRest(server, idle?.descriptors ?? 0);
  if (run.crashed || batch < warmUpBatches) compared = state && { ...state, descriptors: idle?.descriptors ?? 0 };
  else if (compared && state)
    for (const text of growthFaults(compared, state, growthMaxMiB))
      record({ number: undefined, kind: 'process', text });
  console.log(
    `batch ${batch}: ${(run.suspects.length > 0 ? (batchSize * 1_000) / tookMs : 0).toFixed(0)} inputs/s, ` +
      `${run.faults.length} faults, ${state?.residentMiB.toFixed(0)} MiB (heap ${state?.heapMiB.toFixed(0)}), ` +
      `${state?.descriptors} descriptors, polite client at most ${polite.longestMs().toFixed(0)} ms`,
  );
}

const expectedKeys = [
  /^\/registry\/\.own\//,
  /^\/registry\/namespaces\/[^/]+$/,
  /^\/registry\/(serviceaccounts|events|roles|rolebindings|configmaps|leases|secrets)\/[^/]+\/[^/]+$/,
  /^\/registry\/workshop\.example\/lamps\/[^/]+\/[^/]+$/,
  /^\/registry\/(clusterroles|clusterrolebindings|flowschemas|prioritylevelconfigurations|apiextensions\.k8s\.io\/customresourcedefinitions)\/[^/]+$/,
];
const strayKeys = (await allKeys(files.etcd()[0]?.url ?? '')).filter(
  (key) => !expectedKeys.some((form) => form.test(key)),
);
for (const key of strayKeys)
  record({ number: undefined, kind: 'etcd', text: `a key that is below no resource: ${key}` });

const shown = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .toSorted(([, left], [, right]) => right - left)
    .map(([name, times]) => `${name}: ${times}`)
    .join(', ');
console.log(
  `\n${inputs} inputs in ${((clock.monotonicMs() - beganMs) / 1_000).toFixed(0)} s, ` +
    `${((inputs * 1_000) / sendingMs).toFixed(0)} a second while sending; polite client at most ${politeLongestMs.toFixed(0)} ms` +
    `\nkinds      ${shown(kinds)}\nresponses  ${shown(outcomes)}`,
);
for (const { first, times, kinds: of } of seen.values())
  console.log(
    `FAULT x ${times} (${[...of].join(', ')}) ${first.text.slice(0, 300)}` +
      (first.number === undefined ? '' : `\n  npm run fuzz -- --seed ${seed} --only ${first.number}`),
  );
console.log(seen.size === 0 ? 'no faults' : `${seen.size} faults`);
process.exit(seen.size === 0 ? 0 : 1);

function withoutTime(line: string): string {
  return line.replace(/^([IWE])\d{4} \S+ +\d+ /, '$1 ');
}
