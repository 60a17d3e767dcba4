import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { asError, systemClock, systemRandom } from '@cluster-apiserver/base';
import { listen } from '@cluster-apiserver/pipeline';
import { http2Connect, kmsV1Service, kmsV2Service } from '@cluster-apiserver/storage';
import { createLog, type Log, LogOutput } from '@cluster-apiserver/telemetry';
import { assemble } from './assemble.ts';
import { configCommand } from './commands/config/config-command.ts';
import { helpOf, requireCommand } from './commands/help.ts';
import { auditFiles } from './audit/audit-files.ts';
import { FlagError, parseFlags, type ServerFlags } from './flags/flags.ts';
import { stop } from './lifecycle.ts';
import { type LoggingSettings, loggingSettingsOf } from './observability/logging-flags.ts';
import { openStderr } from './stderr.ts';
import { storageCommand } from './commands/storage/storage-command.ts';
import type { Build, Environment } from './environment.ts';
import { describeVersion, parseBuild, version } from './version.ts';

/** The program: with main.ts the only file that reads arguments, signals and the system clock. */

const logOutput = new LogOutput(openStderr(), systemClock);
process.on('exit', () => logOutput.flushSync());

/** The image has the file; `npm run build` leaves none. */
async function readBuild(): Promise<Build | undefined> {
  try {
    return parseBuild(await readFile(new URL('build.json', import.meta.url), 'utf8'));
  } catch {
    return undefined; // without it, or with half of it, the server is the same
  }
}

const environment: Environment = {
  clock: systemClock,
  random: systemRandom(),
  files: {
    read: (file) => readFile(file),
    list: async (directory) => {
      const entries = await readdir(directory, { withFileTypes: true });
      return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    },
    mode: async (file) => (await stat(file)).mode,
    write: async (file, content) => {
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, content, { mode: 0o600 });
    },
  },
  auditFiles,
  connectEtcd: http2Connect,
  connectKms: { v1: kmsV1Service, v2: kmsV2Service },
  listen,
  runtime: { version: process.version, platform: process.platform, arch: process.arch, build: await readBuild() },
  hostname: hostname(),
  heap: () => {
    const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
    return { usedBytes, limitBytes };
  },
  write: (line) => logOutput.write(line),
};

const openLog = (settings: LoggingSettings): Log =>
  createLog({
    ...settings,
    pid: process.pid,
    clock: environment.clock,
    write: environment.write,
    writeLater: (formatLine) => logOutput.writeLater(formatLine),
    lostLines: () => logOutput.lostLines,
  });

async function serve(flags: ServerFlags): Promise<void> {
  const { clock } = environment;
  const log = openLog(loggingSettingsOf(flags));
  const die = (what: string) => (error: unknown) => {
    log.error(
      // Meaning: The process ends, because its state is unknown after an error that no code expected. Clients lose
      // their connections to it.
      'uncaught error; exiting',
      'report the stack as a bug; whatever started the process must start it again',
      {
        what,
        error: asError(error),
        stack: asError(error).stack,
      },
    );
    process.exit(1);
  };
  // The state is unknown after such an error, so the process exits. Clients cannot cause one: callbacks of their
  // connections run in a guard that closes the connection instead (pipeline/src/listener/callback-guard.ts).
  process.on('uncaughtException', die('exception'));
  process.on('unhandledRejection', die('promise rejection'));
  // By default Node prints its warnings to stderr, unformatted and without a stack.
  process.removeAllListeners('warning');
  process.on('warning', (warning) =>
    // Meaning: The runtime reports a deprecated function or a leak of listeners, in the server or a package that it
    // uses.
    log.warn('warning of Node.js', 'report the stack as a bug; the server goes on', {
      error: warning,
      stack: warning.stack,
    }),
  );

  const server = await assemble(flags, environment, log);
  log.info('serving', { version, address: server.host, port: server.port });
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // A second signal skips the graceful shutdown.
      if (stopping) process.exit(1);
      stopping = true;
      stop(server, { clock, log }).then(() => process.exit(0), die('stopping failed'));
    });
  }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function runStorageCommand(args: readonly string[]): Promise<void> {
  const log = openLog({ format: 'text', verbosity: 0 });
  const stopping = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stopping.abort());
  process.exit(await storageCommand(args, environment, log, print, stopping.signal));
}

/** The launcher is a package of its own, whose program handles this command. */
const startIsAbsent =
  'start is not part of this installation: take the npm package, or the target start of deploy/Dockerfile';

async function runCommand(command: string, args: readonly string[]): Promise<void> {
  requireCommand(command);
  if (command === 'start') throw new FlagError([startIsAbsent]);
  if (command === 'storage' && !isHelp(args)) await runStorageCommand(args);
  else if (command === 'config')
    process.exit(await configCommand(args, environment, print, (line) => void process.stderr.write(`${line}\n`)));
  else if (command === 'version' && args.length === 0) print(describeVersion(environment.runtime));
  else {
    const subject = command === 'help' ? args[0] : command;
    if (subject !== undefined) requireCommand(subject);
    process.stdout.write(helpOf(subject));
  }
}

const isHelp = ([first]: readonly string[]): boolean => first === undefined || first === 'help' || first === '--help';

try {
  const [command, ...args] = process.argv.slice(2);
  if (command !== undefined && !command.startsWith('-')) await runCommand(command, args);
  else {
    const flags = parseFlags(process.argv.slice(2));
    if (flags.help) process.stdout.write(helpOf(undefined));
    else if (flags.version) print(describeVersion(environment.runtime));
    else await serve(flags);
  }
} catch (error) {
  process.stderr.write(
    `cluster-apiserver: ${error instanceof FlagError ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
}
