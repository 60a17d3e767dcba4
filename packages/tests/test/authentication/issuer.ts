/** A real OpenID provider (`oidc-provider`) with its own TLS certificate. It can rotate its keys, stop and restart. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { createAuthority } from '@cluster-apiserver/certificates';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

export interface RealIssuer {
  readonly url: string;
  readonly certificateAuthority: string;
  /** An ID token that the provider issues for the client credentials. */
  token(): Promise<string>;
  /** Signs arbitrary claims with the provider's key or another key. */
  sign(claims: JWTPayload, header?: Readonly<Record<string, unknown>>, key?: JWK): Promise<string>;
  /** The public key of the signing key. */
  publicKey(): JWK;
  /** Creates a new signing key; earlier keys stay published. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Claims of every issued token. */
  claims: Readonly<Record<string, unknown>>;
  /** Paths of all received requests. */
  readonly requestedPaths: string[];
  close(): Promise<void>;
}

export const audience = 'cluster';
const client = { client_id: 'robot', client_secret: 'of the robot' };

export async function startIssuer(): Promise<RealIssuer> {
  const authority = await createAuthority('issuers', systemClock, seededRandom(1));
  const names = { commonName: 'issuer', hosts: ['localhost'] };
  const { certificate, privateKey } = await authority.issueForServer(names);
  const requestedPaths: string[] = [];
  let answer: RequestListener;
  const open = async (port: number): Promise<https.Server> => {
    const server = https.createServer({ cert: certificate, key: privateKey }, (request, response) => {
      requestedPaths.push(request.url ?? '');
      answer(request, response);
    });
    server.listen(port, 'localhost');
    await once(server, 'listening');
    return server;
  };
  let server = await open(0);
  const { port } = server.address() as AddressInfo; // the server listens on a port
  const url = `https://localhost:${port}`;
  let keys: readonly JWK[] = [];
  const signing = (): JWK => keys[0] as JWK; // the first rotation creates one

  const issuer: RealIssuer = {
    url,
    certificateAuthority: authority.certificate,
    claims: {},
    requestedPaths,
    token: async () => {
      const body = new URLSearchParams({ grant_type: 'client_credentials', ...client }).toString();
      const answered = JSON.parse(await post(`${url}/token`, body, authority.certificate)) as { access_token: string };
      return answered.access_token;
    },
    sign: async (claims, header = {}, key = signing()) =>
      new SignJWT({ iss: url, aud: audience, sub: 'robot', exp: nowSeconds() + 600, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: signing().kid ?? '', ...header })
        .sign(await importJWK(key, 'ES256')),
    publicKey: () => {
      const { d: _, ...published } = signing();
      return published;
    },
    rotate: async () => {
      const { privateKey: made } = await generateKeyPair('ES256', { extractable: true });
      keys = [{ ...(await exportJWK(made)), kid: `key-${keys.length}`, alg: 'ES256', use: 'sig' }, ...keys];
      answer = new Provider(
        url,
        configuration(keys, () => issuer.claims),
      ).callback();
    },
    stop: () => stop(server),
    restart: async () => {
      server = await open(port);
    },
    close: () => stop(server),
  };
  await issuer.rotate();
  return issuer;
}

const nowSeconds = (): number => Math.floor(systemClock.now() / 1000);

const configuration = (keys: readonly JWK[], claims: () => Readonly<Record<string, unknown>>): object => ({
  jwks: { keys },
  // Its tokens are self-contained, so the provider stores nothing.
  adapter: () => ({ upsert: async () => {}, find: async () => {}, destroy: async () => {}, consume: async () => {} }),
  ttl: { ClientCredentials: 600 },
  clients: [{ ...client, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
  clientAuthMethods: ['client_secret_post'],
  clientDefaults: { token_endpoint_auth_method: 'client_secret_post', id_token_signed_response_alg: 'ES256' },
  extraTokenClaims: claims,
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:cluster',
      getResourceServerInfo: () => ({
        scope: '',
        audience,
        accessTokenTTL: 600,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});

async function stop(server: https.Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function post(url: string, body: string, ca: string): Promise<string> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, text } = await requestHttps(url, { method: 'POST', ca, headers, body });
  if (status !== 200) throw new Error(`the issuer responded with ${status}: ${text}`);
  return text;
}
