import { isDeepStrictEqual } from 'node:util';
import { follow } from '@cluster-apiserver/base';
import { loadWebhookConnection, type WebhookConnection as ConnectionFile } from '@cluster-apiserver/config';
import { httpsClient, retirable, type WebhookConnection } from '@cluster-apiserver/gates';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Environment } from '../environment.ts';
import type { FileRecords } from './configz.ts';

interface ConnectionSource {
  /** Absolute, or as seen from where the server was started. */
  readonly file: string;
  readonly first: ConnectionFile;
  /** Whose connection it is, for the log. */
  readonly of: string;
  /** That names the file, or the configuration that does. */
  readonly flag: string;
}

export interface FollowedConnection {
  readonly current: () => WebhookConnection;
  /** Ends requests that are in flight. */
  readonly close: () => void;
}

/** Small files. Whoever rotates a credential waits for it to be read, and not for much longer than that. */
const pollMs = 1_000;
/** Each can be kept open for the next request. */
const connectionsMax = 64;

/**
 * The connection that a file describes, now and after each change of it or of a file that it names. A change that cannot
 * be used leaves the old one in service; requests in flight end over the connection that they began with.
 */
export function followConnection(
  { file, first, of, flag }: ConnectionSource,
  {
    environment: { clock, files },
    log,
    records,
  }: { readonly environment: Environment; readonly log: Log; readonly records: FileRecords },
): FollowedConnection {
  const open = ({
    server,
    tlsServerName,
    certificateAuthority,
    clientCertificate,
    clientKey,
    token,
  }: ConnectionFile) => ({
    client: retirable(
      httpsClient({
        clock,
        serverName: tlsServerName,
        ca: certificateAuthority,
        cert: clientCertificate,
        key: clientKey,
        connectionsMax,
      }),
    ),
    url: server,
    bearerToken: token,
  });
  let current = open(first);
  const record = records.add({ flag, kind: 'Config', path: file });
  const recordContent = (): void => void files.read(file).then(record.applied, record.failed);
  recordContent();
  const stop = follow(
    {
      clock,
      pollMs,
      read: () => loadWebhookConnection(file, files.read),
      same: (one: ConnectionFile, other: ConnectionFile) => isDeepStrictEqual(one, other),
      use: (next) => {
        const old = current;
        current = open(next);
        old.client.retire();
        recordContent();
        log.withName('configuration').info('webhook connection reloaded', { webhook: of, file });
      },
      failed: (error) => {
        record.failed(error);
        log.withName('configuration').error('webhook connection unusable; keeping the previous one', {
          webhook: of,
          file,
          error: asError(error),
        });
      },
    },
    first,
  );
  return {
    current: () => current,
    close: () => {
      stop();
      record.remove();
      current.client.close();
    },
  };
}
