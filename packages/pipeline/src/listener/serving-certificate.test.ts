import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:tls';
import { certificateFor, http2Answer, type Served, useListener } from '../../test/listener.ts';
import { followCertificate, type ServingCertificate } from './serving-certificate.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'serving-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('files that change', () => {
  let clock: FakeClock;
  let used: ServingCertificate[];
  let reports: string[];
  let reads: number;
  let stop: () => void;

  const write = async (where: string, { cert, key }: ServingCertificate): Promise<void> => {
    await mkdir(path.join(directory, where), { recursive: true });
    await writeFile(path.join(directory, where, 'tls.crt'), cert);
    await writeFile(path.join(directory, where, 'tls.key'), key);
  };
  const follow = async (where: string): Promise<void> => {
    clock = fakeClock();
    [used, reports, reads] = [[], [], 0];
    const read = async (): Promise<ServingCertificate> => {
      const [cert, key] = await Promise.all(
        ['tls.crt', 'tls.key'].map((file) => readFile(path.join(directory, where, file))),
      );
      return { cert: cert as Buffer, key: key as Buffer };
    };
    const source = {
      read: () => read().finally(() => (reads += 1)),
      clock,
      report: (what: string) => reports.push(what),
    };
    stop = followCertificate(source, await read(), (next) => used.push(next));
  };
  /** Waits for two polls: the effects of the first are then complete. */
  const lookTwice = async (): Promise<void> => {
    const before = reads;
    await untilTurned(() => {
      clock.advance(1_000);
      return reads >= before + 2;
    });
  };
  afterEach(() => stop());

  const changes: [string, (next: ServingCertificate) => Promise<void>][] = [
    ['written in place', (next) => write('now', next)],
    [
      'moved over the old ones',
      async (next) => {
        await write('new', next);
        for (const file of ['tls.crt', 'tls.key'])
          await rename(path.join(directory, 'new', file), path.join(directory, 'now', file));
      },
    ],
    [
      'swapped behind a symbolic link',
      async (next) => {
        await write('new', next);
        await rename(path.join(directory, 'now'), path.join(directory, 'old'));
        await symlink('new', path.join(directory, 'now'));
      },
    ],
  ];
  test.each(changes)('are taken up when %s', async (_how, change) => {
    const [first, second] = [await certificateFor('first'), await certificateFor('second')];
    await write('now', first);
    await follow('now');
    await lookTwice();
    expect(used).toEqual([]);
    await change(second);
    await lookTwice();
    expect(used).toEqual([second]);
  });

  test('are not applied while invalid, are reported once, and are applied when repaired', async () => {
    const [first, second] = [await certificateFor('first'), await certificateFor('second')];
    await write('now', first);
    await follow('now');
    // The new certificate with the old key, as between two writes.
    await write('now', { cert: second.cert, key: first.key });
    await lookTwice();
    await lookTwice();
    expect([used.length, reports.length]).toEqual([0, 1]);
    await rm(path.join(directory, 'now', 'tls.key'));
    await lookTwice();
    expect([used.length, reports.length]).toEqual([0, 2]);
    await write('now', second);
    await lookTwice();
    expect(used).toEqual([second]);
  });
});

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
    expect((await http2Answer(session.request({ ':path': '/' }))).body.toString()).toBe('served');
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
