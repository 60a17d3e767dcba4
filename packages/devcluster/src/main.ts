import { CleanupStack, systemClock as clock, systemRandom, errorMessage, onAbort } from '@cluster-apiserver/base';
import fs from 'node:fs';
import { openFront } from './front/front.ts';
import { createProbe } from './front/readiness.ts';
import { frontCommand, parseFrontSettings } from './front-process.ts';
import { formatGreeting } from './greeting.ts';
import { getHome } from './home.ts';
import { launch } from './launch.ts';
import { endLeftovers } from './leftovers.ts';
import { AlreadyRunningError } from './lock.ts';
import { parseOptions, UsageError, usage } from './options.ts';
import { StartError } from './supervise.ts';

// The launcher behind `npm start`, and the front that it starts as a process of its own.

const { pid, env, execPath: node } = process;
const print = (line: string): void => console.log(line);

/** Aborts on a stop signal, or when the parent process ends. */
const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopRequested.abort('asked'));
process.on('disconnect', () => stopRequested.abort('alone'));
// The terminal may be closed already; an orderly stop is more important than its output.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const [command, ...rest] = process.argv.slice(2);
// Exit explicitly: the IPC channel to the parent process would keep this one alive.
process.exit(command === frontCommand ? await front(rest) : await launcher(process.argv.slice(2)));

async function launcher(args: readonly string[]): Promise<number> {
  const cleanup = new CleanupStack();
  try {
    const options = parseOptions(args);
    if (options === undefined) {
      print(usage());
      return 0;
    }
    const etcd = env['ETCD_BIN'] ?? 'etcd';
    const launching = launch(
      options,
      { clock, random: systemRandom(), print, pid, env, node, etcd, signal: stopRequested.signal },
      cleanup,
    );
    const cluster = await Promise.race([launching, waitForStop()]);
    if (cluster) {
      print(formatGreeting(cluster, pid, process.cwd()));
      process.send?.('ready');
      await waitForStop();
    }
    print('Stopping: the replicas finish what they have begun.');
    return 0;
  } catch (error) {
    report(error);
    return 1;
  } finally {
    await cleanup.close((what, error) => report(new Error(`${what} did not close`, { cause: error })));
  }
}

async function front(args: readonly string[]): Promise<number> {
  const { directory, port, replicas } = parseFrontSettings(args);
  const home = getHome(directory);
  const probe = createProbe(fs.readFileSync(home.ca, 'utf8'), fs.readFileSync(home.adminToken, 'utf8'));
  const opened = await openFront(port, replicas, probe, clock, print);
  await waitForStop();
  const drained = opened.drain();
  // If the launcher was killed, the front ends the cluster: it is the only child that detects this.
  if (stopRequested.signal.reason === 'alone') await endLeftovers(home, pid, clock);
  else await drained;
  return 0;
}

function waitForStop(): Promise<undefined> {
  return new Promise((resolve) => {
    onAbort(stopRequested.signal, () => resolve(undefined));
  });
}

/** Prints known errors without a stack. */
function report(error: unknown): void {
  const explained = [UsageError, StartError, AlreadyRunningError].some((family) => error instanceof family);
  console.error(explained ? errorMessage(error) : error);
}
