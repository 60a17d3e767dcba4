import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Clock, seededRandom, systemClock, systemRandom } from '@cluster-apiserver/base';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { checkServerIdentity, connect, createServer, type PeerCertificate, type Server } from 'node:tls';
import {
  type CertificateAuthority,
  createAuthority,
  type Credentials,
  openAuthority,
  createSelfSigned,
} from './index.ts';

const names = { commonName: 'test server', hosts: ['localhost', '127.0.0.1', '::1'] };
const random = systemRandom();
let authority: CertificateAuthority;
let server: Server;

beforeAll(async () => {
  authority = await createAuthority('test authority', systemClock, random);
  server = await serve(await authority.issueForServer(names));
});

afterAll(async () => {
  server.close();
  await once(server, 'close');
});

describe('a certificate issued for a server', () => {
  test.each(['localhost', '127.0.0.1', '::1'])('is accepted for %s by a client that trusts the CA', async (host) => {
    await expect(handshake(server, authority.certificate, host)).resolves.toBe('authorized');
  });

  test('is refused for a host it does not name', async () => {
    await expect(handshake(server, authority.certificate, 'elsewhere.example')).rejects.toThrow(/altnames/);
  });

  test('is refused by a client that trusts another CA of the same name', async () => {
    const other = await createAuthority('test authority', systemClock, random);
    await expect(handshake(server, other.certificate, 'localhost')).rejects.toThrow();
  });

  test('cannot sign other certificates', async () => {
    expect(new X509Certificate((await authority.issueForServer(names)).certificate).ca).toBe(false);
  });
});

test('a client certificate names its user and its groups in the given order', async () => {
  const issued = await authority.issueForClient({ user: 'ada', groups: ['system:masters', 'team-a'] });
  expect(new X509Certificate(issued.certificate).subject).toBe('O=system:masters\nO=team-a\nCN=ada');
  expect(new X509Certificate(issued.certificate).keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
});

test('a peer certificate is valid for both server and client authentication', async () => {
  const issued = new X509Certificate((await authority.issueForPeer(names)).certificate);
  expect(issued.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  expect(issued.checkHost('localhost')).toBe('localhost');
});

test('a CA opened again signs certificates that existing clients trust', async () => {
  const { certificate, privateKey } = authority;
  const reopened = openAuthority({ certificate, privateKey }, systemClock, random);
  const again = await serve(await reopened.issueForServer(names));
  try {
    await expect(handshake(again, certificate, 'localhost')).resolves.toBe('authorized');
  } finally {
    again.close();
  }
});

test('a CA is not opened with the key of another', async () => {
  const other = await createAuthority('other', systemClock, random);
  const mixed = { certificate: authority.certificate, privateKey: other.privateKey };
  expect(() => openAuthority(mixed, systemClock, random)).toThrow(/does not belong/);
});

test('serial numbers are unique and positive', async () => {
  const certificates = await Promise.all(Array.from({ length: 20 }, () => authority.issueForServer(names)));
  const serials = certificates.map(({ certificate }) => new X509Certificate(certificate).serialNumber);
  expect(new Set(serials).size).toBe(serials.length);
  for (const serial of serials) expect(serial).toMatch(/^1[0-9A-F]{31}$/);
});

test('a certificate is valid from a little before the clock until its lifetime is over', async () => {
  const clock: Clock = { ...systemClock, now: () => Date.parse('2030-01-01T00:00:00Z') };
  const { certificate } = await createSelfSigned(names, clock, seededRandom(1));
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  expect(validFromDate).toEqual(new Date('2029-12-31T23:55:00Z'));
  expect(validToDate).toEqual(new Date('2031-01-01T00:00:00Z'));
});

test('a self-signed certificate is accepted by a client that was given it', async () => {
  const credentials = await createSelfSigned(names, systemClock, random);
  const alone = await serve(credentials);
  try {
    await expect(handshake(alone, credentials.certificate, '127.0.0.1')).resolves.toBe('authorized');
  } finally {
    alone.close();
  }
});

async function serve({ certificate, privateKey }: Credentials): Promise<Server> {
  const listener = createServer({ cert: certificate, key: privateKey }, (socket) => socket.end());
  listener.on('tlsClientError', () => {}); // the refused handshakes above are what the tests ask for
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return listener;
}

/** Connects as a client that expects `host` there. */
function handshake(listener: Server, ca: string, host: string): Promise<'authorized'> {
  const { port } = listener.address() as AddressInfo; // it listens on a TCP port
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, ...expecting(host) }, () => {
      socket.destroy();
      resolve('authorized');
    });
    socket.on('error', reject);
  });
}

/** TLS sends DNS names ahead and forbids addresses there, so an address is only checked against the certificate. */
function expecting(host: string): object {
  return {
    servername: /^[\d.:]+$/.test(host) ? '' : host,
    checkServerIdentity: (_dialled: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
  };
}
