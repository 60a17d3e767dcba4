import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { connect } from 'node:tls';
import { certificateFor, http2Answer, type Served, useListener } from '../../test/listener.ts';

describe('a listener', () => {
  const serve = useListener();

  const nameSeen = (served: Served, options: object = {}): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(
        { host: '127.0.0.1', port: served.listener.port, rejectUnauthorized: false, ...options },
        () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });

  test('shows a new certificate to new connections and keeps those it has', async () => {
    const served = await serve(() => ({ status: 200, headers: {}, body: Buffer.from('served') }));
    const session = served.http2();
    await http2Answer(session.request({ ':path': '/' }));
    expect(await nameSeen(served)).toBe('first');
    served.listener.useCertificate(await certificateFor('second'));
    expect(await nameSeen(served)).toBe('second');
    expect((await http2Answer(session.request({ ':path': '/' }))).text).toBe('served');
  });

  test.each(['TLSv1', 'TLSv1.1'])('refuses %s', async (version) => {
    const served = await serve(() => ({ status: 200, headers: {} }));
    await expect(
      nameSeen(served, { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' }),
    ).rejects.toThrow();
  });

  test.each(['AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-SHA256', 'ECDHE-ECDSA-AES128-SHA'])(
    'refuses the suite %s',
    async (ciphers) => {
      const served = await serve(() => ({ status: 200, headers: {} }));
      await expect(nameSeen(served, { maxVersion: 'TLSv1.2', ciphers })).rejects.toThrow();
    },
  );

  test('is not moved by bytes that are no handshake', async () => {
    const served = await serve(() => ({ status: 200, headers: {}, body: Buffer.from('served') }));
    const { connect: connectPlain } = await import('node:net');
    const socket = connectPlain(served.listener.port, '127.0.0.1');
    let closed = false;
    socket.on('error', () => {});
    socket.on('close', () => (closed = true));
    socket.resume();
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await untilTurned(() => closed);
    expect(await nameSeen(served)).toBe('first');
    expect(served.reports).toEqual([]);
  });
});
