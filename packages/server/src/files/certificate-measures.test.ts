import { expect, test } from '@jest/globals';
import { createAuthority } from '@cluster-apiserver/certificates';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { X509Certificate } from 'node:crypto';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createCertificateMeasures } from './certificate-measures.ts';

test('publishes the earliest expiration of a bundle, and ignores invalid certificates', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = createCertificateMeasures(metrics);
  const day = 86_400_000;
  const [later, sooner] = await Promise.all(
    [day, 0].map((ms) =>
      createAuthority('one', { ...systemClock, now: () => Date.UTC(2030, 0, 1) + ms }, seededRandom(1)),
    ),
  );
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const serving = `${later?.certificate}${broken}${sooner?.certificate}`;
  measures('serving', ['serving', undefined]).applied([Buffer.from(serving), 'the key']);
  measures('client-ca', ['client-ca']).applied([Buffer.from(broken)]);
  const seconds = Date.parse(new X509Certificate(String(sooner?.certificate)).validTo) / 1000;
  const lines = (await exposed(metrics)).split('\n').filter((line) => line.startsWith('apiserver_certificate_exp'));
  expect(lines).toEqual([`apiserver_certificate_expiration_timestamp_seconds{use="serving"} ${seconds}`]);
});
