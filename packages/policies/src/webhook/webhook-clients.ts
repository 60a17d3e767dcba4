import { hash } from 'node:crypto';
import { BoundedCache, bytesOfText } from '@cluster-apiserver/base';
import type { HttpsClientOptions, RetirableClient } from '@cluster-apiserver/gates';
import type { WebhookClientConfig } from '@cluster-apiserver/kinds';
import { WebhookCallError } from './errors.ts';

/** The `host[:port]` where a service is reached; undefined for a service that is not configured. */
export type ResolveService = (namespace: string, name: string) => string | undefined;

export interface WebhookClientsOptions {
  /** Opens a client that ends its connections when it is closed. */
  readonly open: (options: Pick<HttpsClientOptions, 'ca' | 'serverName' | 'connectionsMax'>) => RetirableClient;
  readonly resolveService: ResolveService;
}

/** The address of a webhook. Plain data: connections are kept as long as none of it changes. */
export interface Endpoint {
  readonly url: URL;
  /** The TLS server name, if it is not the host of the URL. */
  readonly serverName: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** In base64. */
  readonly caBundle: string;
  /** Endpoints with the same key share a client. */
  readonly clientKey: string;
}

/** As in kube-apiserver. The least recently used client is closed first. */
const clientsMax = 200;
/** Of CA bundles, which may be as large as an object: at most a dozen of the largest. */
const caBytesMax = 32 * 1024 * 1024;
/** Connections per client: the default limit of mutating requests in flight, so that no call waits for a connection. */
const connectionsMax = 200;

interface KeptClient {
  readonly client: RetirableClient;
  readonly caBytes: number;
}

/** Clients of webhooks, one for each server and CA bundle. Connections are kept open for the next request. */
export class WebhookClients {
  readonly #options: WebhookClientsOptions;
  readonly #clients = new BoundedCache<KeptClient>({
    entriesMax: clientsMax,
    bytesMax: caBytesMax,
    bytesOf: (key, { caBytes }) => bytesOfText(key) + caBytes,
    onEvict: ({ client }) => client.retire(),
  });

  constructor(options: WebhookClientsOptions) {
    this.#options = options;
  }

  /** Throws a WebhookCallError if the webhook cannot be reached as it is configured. */
  resolveEndpoint({ url = '', service, caBundle = '' }: WebhookClientConfig): Endpoint {
    if (!service) {
      // Validation rejects such URLs, but an older server may have stored one.
      if (!URL.canParse(url)) throw new WebhookCallError('the URL of the webhook is not valid');
      return toEndpoint({ url: new URL(url), serverName: undefined, headers: {}, caBundle });
    }
    const { namespace, name, path = '/', port = 443 } = service;
    const address = this.#options.resolveService(namespace, name);
    if (address === undefined)
      throw new WebhookCallError(
        `no address is known for the service ${namespace}/${name}: this server resolves only services that --admission-webhook-services names`,
      );
    const target = new URL(`https://${address}`);
    if (!/:\d+$/.test(address)) target.port = String(port);
    target.pathname = path;
    const serverName = `${name}.${namespace}.svc`;
    return toEndpoint({ url: target, serverName, headers: { host: `${serverName}:${port}` }, caBundle });
  }

  getClient({ serverName, caBundle, clientKey }: Endpoint): Pick<RetirableClient, 'send'> {
    const known = this.#clients.get(clientKey);
    if (known) return known.client;
    const ca = caBundle === '' ? undefined : Buffer.from(caBundle, 'base64');
    const client = this.#options.open({ ca, serverName, connectionsMax });
    this.#clients.set(clientKey, { client, caBytes: caBundle.length });
    return client;
  }

  close(): void {
    for (const { client } of this.#clients.values()) client.close();
  }
}

const toEndpoint = (of: Omit<Endpoint, 'clientKey'>): Endpoint => ({
  ...of,
  clientKey: hash('sha256', JSON.stringify([of.url.host, of.serverName, of.caBundle]), 'base64'),
});
