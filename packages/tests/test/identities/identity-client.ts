import { http1Client, http2Client } from '@cluster-apiserver/testkit/api-client';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { TestServer } from '../serve-kinds.ts';

/** A client certificate with its key. */
export interface ClientCertificate {
  readonly chain: string;
  readonly privateKey: string;
}

export interface ClientResponse {
  readonly status: number;
  readonly body: KubeObject & { readonly message?: string };
}

/** A client with its own connection, certificate and headers. */
export interface Client {
  send(headers?: Readonly<Record<string, string | readonly string[]>>, path?: string): Promise<ClientResponse>;
  close(): void;
}

const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/** The authenticated user of a response; undefined if the request was rejected. */
export const userOf = ({ status, body }: ClientResponse): unknown =>
  status === 201 ? (body as unknown as { status: { userInfo: unknown } }).status.userInfo : undefined;

export const protocols = ['HTTP/1.1', 'HTTP/2'] as const;

/** Opens a client; all of its requests share one connection. */
export function openClient(
  { url, certificate: ca }: TestServer,
  protocol: (typeof protocols)[number],
  shown?: ClientCertificate,
): Client {
  const open = protocol === 'HTTP/1.1' ? http1Client : http2Client;
  const client = open(url, { ca, ...(shown && { cert: shown.chain, key: shown.privateKey }) });
  return {
    send: async (headers = {}, path = whoami) => {
      const { status, body } = await client.request('POST', path, { headers, body: {} });
      return { status, body: JSON.parse(body) };
    },
    close: client.close,
  };
}
