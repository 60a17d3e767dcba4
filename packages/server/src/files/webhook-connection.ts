import { loadWebhookConnection, type WebhookConnection as ConnectionFile } from '@cluster-apiserver/config';
import { createHttpsClient, makeRetirable, type WebhookConnection } from '@cluster-apiserver/gates';
import type { Files } from '../environment.ts';
import { type FlagFile, withFlagErrors } from './flag-files.ts';
import { type FileObservers, type Followed, followFiles } from './follow-files.ts';

/** Connections that are kept open for the next requests. */
const connectionsMax = 64;

/**
 * Opens the connection of a kubeconfig, and reopens it when the kubeconfig or a file that it references changes. Requests in
 * flight finish on the connection on which they began; closing aborts them.
 */
export function followConnection(
  { name, file, first }: { readonly name: string; readonly file: FlagFile; readonly first?: ConnectionFile },
  context: FileObservers & { readonly environment: { readonly files: Files } },
): Promise<Followed<WebhookConnection>> {
  const { clock, files } = context.environment;
  return followFiles(
    {
      name,
      files: [{ ...file, kind: 'Config' }],
      read: () => readConnection(file, files),
      first,
      bytesOf: ({ content }) => [content],
      build: ({ server, tlsServerName, certificateAuthority, clientCertificate, clientKey, token }, cleanup) => {
        const client = createHttpsClient({
          clock,
          serverName: tlsServerName,
          ca: certificateAuthority,
          cert: clientCertificate,
          key: clientKey,
          connectionsMax,
        });
        cleanup.defer(name, () => client.close());
        const retirable = makeRetirable({
          send: (request, call) => client.send(request, call),
          close: () => void cleanup.close(),
        });
        return { client: retirable, url: server, bearerToken: token };
      },
      retire: ({ client }) => client.retire(),
    },
    context,
  );
}

/** Errors name the flag. */
export const readConnection = ({ flag, path }: FlagFile, files: Files): Promise<ConnectionFile> =>
  withFlagErrors(flag, () => loadWebhookConnection(path, files.read));
