import { isDeepStrictEqual } from 'node:util';
import { pollChanges } from '@cluster-apiserver/base';
import { loadWebhookConnection, type WebhookConnection as ConnectionFile } from '@cluster-apiserver/config';
import { createHttpsClient, makeRetirable, type WebhookConnection } from '@cluster-apiserver/gates';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Environment } from '../environment.ts';
import type { FileRecords } from '../configuration/configz.ts';

interface ConnectionSource {
  /** Absolute, or relative to the working directory of the server. */
  readonly file: string;
  readonly first: ConnectionFile;
  /** Name of the webhook, for the log. */
  readonly of: string;
  /** The flag that names the file, or the configuration that names it. */
  readonly flag: string;
}

export interface FollowedConnection {
  readonly current: () => WebhookConnection;
  /** Aborts requests in flight. */
  readonly close: () => void;
}

/** Short, because operators wait for rotated credentials to take effect. The files are small. */
const pollMs = 1_000;
/** Connections that are kept open for the next requests. */
const connectionsMax = 64;

/**
 * Opens the connection of a kubeconfig, and reopens it when the kubeconfig or a file that it references changes. An invalid
 * change keeps the current connection. Requests in flight finish on the connection on which they began.
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
    client: makeRetirable(
      createHttpsClient({
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
  record.applied(first.content);
  const stop = pollChanges(
    {
      clock,
      pollMs,
      read: () => loadWebhookConnection(file, files.read),
      isEqual: (one: ConnectionFile, other: ConnectionFile) => isDeepStrictEqual(one, other),
      apply: (next) => {
        const old = current;
        current = open(next);
        old.client.retire();
        record.applied(next.content);
        log.withName('configuration').info('webhook connection reloaded', { webhook: of, file });
      },
      onError: (error) => {
        record.failed(error);
        log.withName('configuration').error('cannot reload the webhook connection; keeping the previous one', {
          webhook: of,
          flag,
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
