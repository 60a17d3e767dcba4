import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import https from 'node:https';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
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
  server: TestServer,
  protocol: (typeof protocols)[number],
  shown?: ClientCertificate,
): Client {
  const access = { ca: server.certificate, ...(shown && { cert: shown.chain, key: shown.privateKey }) };
  return protocol === 'HTTP/1.1' ? overHttp1(server, access) : overHttp2(server, access);
}

function overHttp1({ url }: TestServer, access: object): Client {
  const agent = new https.Agent({ ...access, keepAlive: true, maxSockets: 1 });
  return {
    send: async (headers = {}, path = whoami) => {
      const { status, text } = await requestHttps(url + path, { agent, method: 'POST', headers, body: '{}' });
      return { status, body: JSON.parse(text) };
    },
    close: () => agent.destroy(),
  };
}

function overHttp2({ url }: TestServer, access: object): Client {
  const session = connect(url, access);
  return {
    send: async (headers = {}, path = whoami) => {
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      stream.end('{}');
      const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status': number }];
      return { status: answer[':status'], body: JSON.parse(await textOf(stream)) };
    },
    close: () => session.close(),
  };
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
