/** The rooms put together around kinds of a test's choice: a real listener in front, a real etcd behind. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { Scope, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { selfSigned } from '@cluster-apiserver/certificates';
import { collectGarbage } from '@cluster-apiserver/controllers';
import { firstToDecide, mastersGroup, privilegedGroups, staticTokens } from '@cluster-apiserver/gates';
import type { Kind, KubeObject } from '@cluster-apiserver/model';
import { chain, documentRoutes, listen, routes } from '@cluster-apiserver/pipeline';
import { etcdStore, http2Connect, identity, openEtcdClient } from '@cluster-apiserver/storage';
import { startEtcd } from '../../storage/test/real-etcd.ts';

export interface ServedKinds {
  /** Sends a request as one who may do everything, and gives the answer as soon as it begins. */
  open(method: string, path: string, body?: object | string, type?: string): Promise<IncomingMessage>;
  ask(method: string, path: string, body?: object | string, type?: string): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly warnings: readonly string[];
  /** An object, a list or a Status. */
  readonly body: KubeObject & { readonly items?: readonly KubeObject[] };
}

export async function serveKinds(kinds: readonly Kind[]): Promise<ServedKinds> {
  const scope = new Scope();
  const etcd = await startEtcd();
  scope.onClose('etcd', () => etcd.stop());
  const random = systemRandom();
  const connect = http2Connect(clock);
  const client = openEtcdClient({ endpoints: etcd.endpoints, connect, clock, random, report: () => {} });
  scope.onClose('client', () => client.close());
  const store = etcdStore({ client, transformer: identity, ownPrefix: '/own/' });
  const resources = kinds.map((kind) => ({ kind, store, keyPrefix: '/registry', clock, random }));

  const term = new AbortController();
  const collecting = collectGarbage({ resources, clock, random, signal: term.signal, report: () => {} });
  scope.onClose('garbage collector', () => {
    term.abort();
    return collecting;
  });

  const report = (fault: unknown): void => console.error(fault);
  const handler = chain(
    {
      clock,
      random,
      requestTimeoutMs: 10_000,
      authenticator: staticTokens(`secret,admin,1,"${mastersGroup}"`),
      authorizer: firstToDecide([privilegedGroups([mastersGroup])]),
      measures: { began: () => {}, ended: () => {} },
      report,
    },
    routes({
      resources,
      deleteCollectionWorkers: 2,
      watchLimits: { clock, random, minRequestTimeoutMs: 60_000 },
      documents: documentRoutes({}),
    }),
  );
  const { certificate, privateKey } = await selfSigned({ commonName: 'a test', hosts: ['127.0.0.1'] }, clock, random);
  const serving = { cert: Buffer.from(certificate), key: Buffer.from(privateKey) };
  const listener = await listen({ host: '127.0.0.1', port: 0, certificate: serving, clock, report }, handler);
  scope.onClose('listener', () => listener.close(1_000));

  const agent = new https.Agent({ keepAlive: true, ca: serving.cert });
  scope.onClose('connections', () => agent.destroy());
  const open: ServedKinds['open'] = async (method, path, body, type = 'application/json') => {
    const headers = { authorization: 'Bearer secret', ...(body && { 'content-type': type }) };
    const request = https.request({ agent, host: '127.0.0.1', port: listener.port, method, path, headers });
    request.end(typeof body === 'object' ? JSON.stringify(body) : body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  };
  return {
    open,
    ask: async (...request) => {
      const response = await open(...request);
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece as Buffer);
      const warnings = response.headersDistinct.warning ?? [];
      return { status: response.statusCode ?? 0, warnings, body: JSON.parse(Buffer.concat(pieces).toString()) };
    },
    close: () => scope.close(),
  };
}
