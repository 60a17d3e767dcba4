import type { ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority } from '@cluster-apiserver/certificates';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

/** An issuer behind TLS with an authority of its own. What it answers can be changed while it runs. */
export interface Provider {
  readonly url: string;
  readonly certificateAuthority: string;
  /** The paths that were asked for. */
  readonly asked: string[];
  /** Publishes a key and signs with it from now on. */
  rotate(kid: string, alg?: string): Promise<void>;
  sign(claims: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>;
  published: JWK[];
  /** Answers instead of the usual, by path. */
  readonly answers: Map<string, (response: Answer) => void>;
  close(): Promise<void>;
}

export type Answer = ServerResponse;

export async function startProvider(): Promise<Provider> {
  const authority = await createAuthority('issuers', systemClock, seededRandom(1));
  const names = { commonName: 'issuer', hosts: ['localhost'] };
  const { certificate, privateKey } = await authority.issueForServer(names);
  const answers: Provider['answers'] = new Map();
  const asked: string[] = [];
  let signing: { readonly key: CryptoKey; readonly kid: string; readonly alg: string };

  const server = https.createServer({ cert: certificate, key: privateKey }, ({ url: path = '' }, response) => {
    asked.push(path);
    const special = answers.get(path);
    if (special) return special(response);
    const document =
      path === '/keys' ? { keys: provider.published } : { issuer: provider.url, jwks_uri: `${provider.url}/keys` };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));

  const provider: Provider = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    certificateAuthority: authority.certificate,
    asked,
    answers,
    published: [],
    rotate: async (kid, alg = 'ES256') => {
      const { publicKey, privateKey: key } = await generateKeyPair(alg, { extractable: true });
      provider.published = [...provider.published, { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }];
      signing = { key, kid, alg };
    },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: signing.alg, kid: signing.kid, ...header }).sign(signing.key),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  await provider.rotate('first');
  return provider;
}
