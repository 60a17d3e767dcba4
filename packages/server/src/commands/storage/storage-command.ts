import { asError, CleanupStack } from '@cluster-apiserver/base';
import { customResourceDefinition, kinds as kindsOf } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import { isStorageUnavailable, StoredKinds } from '@cluster-apiserver/registry';
import { EtcdStore, rawTransformer } from '@cluster-apiserver/storage';
import { createHealth, createMetrics, type Log } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../../configuration/context.ts';
import { FlagError, readSettings } from '../../flags/flag.ts';
import { parseFlags, type ServerFlags } from '../../flags/flags.ts';
import type { Environment } from '../../environment.ts';
import { createCertificateMeasures } from '../../files/certificate-measures.ts';
import { createFileRecords } from '../../files/file-records.ts';
import { openEncryption } from '../../storage/encryption.ts';
import { etcdOfKind } from '../../storage/etcd-overrides.ts';
import { storageSettingsOf } from '../../storage/storage-settings.ts';
import { openStorage } from '../../storage/etcd-storage.ts';
import { addDefinedKinds } from './defined-kinds.ts';
import { inspect } from './inspect.ts';
import { rewrite } from './rewrite.ts';

export const storageHelp = `cluster-apiserver storage inspect [flags of the server]
      Counts stored objects by resource and encryption provider. Shows neither values nor keys.
cluster-apiserver storage rewrite [--dry-run] [--objects-per-second N] [--after KEY] [flags of the server]
      Re-encrypts stored objects with the first provider of the encryption configuration. Can run while
      servers write. Can be stopped and run again at any time: it skips objects that are up to date, and --after KEY skips keys
      up to KEY.
`;

/** Runs `cluster-apiserver storage …`. Returns the exit code. */
export async function storageCommand(
  [command, ...args]: readonly string[],
  environment: Environment,
  log: Log,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<number> {
  const { flags, own } = parseArguments(args);
  const { clock } = environment;
  const cleanup = new CleanupStack();
  try {
    const settings = readSettings(storageSettingsOf, flags);
    const { keyPrefix, ownPrefix, eventLifetimeSeconds } = settings;
    const metrics = createMetrics({ ofProcess: false });
    const context: ServerContext = {
      environment,
      metrics,
      log,
      serverId: environment.random.uuid(),
      records: createFileRecords(clock, metrics),
      certificates: createCertificateMeasures(metrics),
      health: createHealth({ clock, failed: () => {} }),
    };
    const storedKinds = new StoredKinds(keyPrefix, kindsOf({ eventLifetimeSeconds }));
    const { transformer } = await openEncryption(settings.encryption, storedKinds, context, cleanup);
    const etcds = await openStorage(settings, { storedKinds, transformer }, context, cleanup);
    await addDefinedKinds(etcdOfKind(etcds, customResourceDefinition).store, storedKinds, clock);
    const scans = etcds.map((etcd) => ({
      ...{ keyPrefix, ownPrefix, clock, print, signal, id: etcd.id, store: etcd.store },
      holds: (kind: Kind) => etcdOfKind(etcds, kind) === etcd,
      raw: new EtcdStore({ client: etcd.client, transformer: rawTransformer, internalPrefix: ownPrefix }),
    }));
    if (command === 'inspect')
      return await inspect(
        scans.map(({ raw, ...scan }) => ({ ...scan, store: raw })),
        storedKinds,
      );
    if (command !== 'rewrite') throw new FlagError([`storage does inspect and rewrite\n\n${storageHelp}`]);
    if (own.after !== undefined && !own.after.startsWith(`${keyPrefix}/`))
      throw new FlagError([`--after: expected a key, which begins with ${keyPrefix}/`]);
    // The etcds are read one after the other. What lies before the key in the order of a walk has been read already.
    const kindAfter = storedKinds.ofKey(own.after ?? '');
    const first = Math.max(0, kindAfter ? scans.findIndex(({ holds }) => holds(kindAfter)) : 0);
    let code = 0;
    for (const [index, scan] of scans.slice(first).entries())
      if (!signal.aborted)
        code ||= await rewrite({ ...scan, ...own, after: index === 0 ? own.after : undefined, storedKinds });
    return code;
  } catch (error) {
    if (isStorageUnavailable(error)) throw new FlagError([`--etcd-servers: ${asError(error).message}`]);
    throw error;
  } finally {
    await cleanup.close();
  }
}

interface CommandFlags {
  readonly dryRun: boolean;
  readonly objectsPerSecond: number;
  readonly after: string | undefined;
}

/** Slow enough not to disturb other clients of etcd. */
const objectsPerSecondDefault = '200';

function parseArguments(args: readonly string[]): { flags: ServerFlags; own: CommandFlags } {
  const own = new Map<string, string>();
  const others: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name, value] = /^--(dry-run|objects-per-second|after)(?:=(.*))?$/.exec(arg) ?? [];
    if (!name) others.push(arg);
    else own.set(name, value ?? (name === 'dry-run' ? 'true' : (rest.shift() ?? '')));
  }
  const objectsPerSecond = Number(own.get('objects-per-second') ?? objectsPerSecondDefault);
  if (!(objectsPerSecond > 0)) throw new FlagError(['--objects-per-second: expected a number above 0']);
  return {
    flags: parseFlags(others),
    own: { dryRun: own.get('dry-run') === 'true', objectsPerSecond, after: own.get('after') },
  };
}
