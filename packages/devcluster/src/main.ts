import { CleanupStack, systemClock as clock, systemRandom, errorMessage, onAbort } from '@cluster-apiserver/base';
import fs from 'node:fs';
import { ChecksumError, fetchEtcd } from './etcd-program.ts';
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

// The launcher behind `cluster-apiserver start` and `npm start`, and the front that it starts as a process of its own.

/** The argument that fetches etcd into a directory. */
const fetchEtcdCommand = 'fetch-etcd';

/** What `npm run dev` asks for when it has built the sources again. */
const startNow = 'start now';

const { pid, env, execPath: node, platform, arch } = process;
const print = (line: string): void => console.log(line);

/** Aborts on a stop signal, or when the parent process ends. */
const stopRequested = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopRequested.abort('asked'));
process.on('disconnect', () => stopRequested.abort('alone'));
// The terminal may be closed already; an orderly stop is more important than its output.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

/** Without the command that `cluster-apiserver` handles. */
const words = process.argv.slice(2);
const given = words[0] === 'help' ? ['--help'] : words.slice(words[0] === 'start' ? 1 : 0);
// Exit explicitly: the IPC channel to the parent process would keep this one alive.
process.exit(await programOf(given[0])(given));

function programOf(command: string | undefined): (args: readonly string[]) => Promise<number> {
  if (command === frontCommand) return ([, ...rest]) => front(rest);
  if (command === fetchEtcdCommand) return ([, directory = '']) => fetchProgram(directory);
  return launcher;
}

/** For the toolchain of the checkout, which has further sources of etcd. */
async function fetchProgram(directory: string): Promise<number> {
  try {
    await fetchEtcd(directory, { platform, arch }, print);
    return 0;
  } catch (error) {
    report(error);
    return error instanceof ChecksumError ? 2 : 1;
  }
}

async function launcher(args: readonly string[]): Promise<number> {
  const cleanup = new CleanupStack();
  try {
    const options = parseOptions(args);
    if (options === undefined) {
      print(usage());
      return 0;
    }
    const launching = launch(
      options,
      {
        clock,
        random: systemRandom(),
        print,
        pid,
        env,
        node,
        platform: { platform, arch },
        signal: stopRequested.signal,
      },
      cleanup,
    );
    const cluster = await Promise.race([launching, waitForStop()]);
    if (cluster) {
      print(
        formatGreeting(
          cluster,
          pid,
          process.cwd(),
          `${env['npm_command'] === undefined ? '' : 'npx '}cluster-apiserver --help`,
        ),
      );
      if (options.printKubeconfig) print(`\n${fs.readFileSync(cluster.home.formatKubeconfig, 'utf8')}`);
      process.send?.('ready');
      process.on('message', (asked) => asked === startNow && cluster.startNow());
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
  const { directory, replicas, ...address } = parseFrontSettings(args);
  const home = getHome(directory);
  const probe = createProbe(fs.readFileSync(home.ca, 'utf8'), fs.readFileSync(home.adminToken, 'utf8'));
  const opened = await openFront(address, replicas, probe, clock, print);
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
