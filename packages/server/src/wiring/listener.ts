import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type ApiRequest,
  defaultStreamsMax,
  followCertificate,
  type Handler,
  type Listener,
  type ReportFailure,
  type ServingCertificate,
} from '@cluster-apiserver/pipeline';
import { asError } from '../as-error.ts';
import { servingCertificate } from './certificate.ts';
import { asksForCertificates } from './client-certificates.ts';
import type { CertificateMeasures } from './certificate-measures.ts';
import type { FollowingOptions } from './followed-configuration.ts';
import { listenerMeasures } from './listener-measures.ts';

/** How long clients are asked to leave by themselves. What they have sent by then is still answered, in its own time. */
export const drainMs = 10_000;

export interface ListenerOptions extends Omit<FollowingOptions, 'serverId'> {
  readonly certificates: CertificateMeasures;
}

/** The port, with the certificate that lies in its file at the time. */
export async function openListener(
  handler: Handler<ApiRequest>,
  { flags, surroundings, log, metrics, records, certificates }: ListenerOptions,
  scope: CleanupStack,
): Promise<Listener> {
  const { clock, random, listen } = surroundings;
  const certificate = await servingCertificate(flags, surroundings, log);
  const report: ReportFailure = (what, error, request) =>
    log.withName('listener').error(what, { ...request, error: asError(error), stack: asError(error).stack });
  const listener = await listen(
    {
      host: flags['bind-address'],
      port: flags['secure-port'],
      certificate: certificate.current,
      requestsCertificates: asksForCertificates(flags),
      clock,
      random,
      goawayChance: flags['goaway-chance'],
      connectionsPerPeerMax: flags['max-connections-per-peer'],
      measures: listenerMeasures(metrics),
      streamsMax: flags['http2-max-streams-per-connection'] || defaultStreamsMax,
      report,
    },
    handler,
  );
  const [certRecord, keyRecord] = [
    records.add({ flag: 'tls-cert-file', kind: 'certificate', path: certificate.certFile }),
    records.add({ flag: 'tls-private-key-file', kind: 'private key', path: certificate.keyFile }),
  ];
  const noteCertificate = ({ cert, key }: ServingCertificate): void => {
    certRecord.applied(cert);
    keyRecord.applied(key);
    certificates.inUse('serving', cert);
  };
  noteCertificate(certificate.current);
  const reportCertificate: ReportFailure = (what, error) => {
    // They are used together or not at all.
    for (const record of [certRecord, keyRecord]) record.failed(error);
    certificates.reloaded('serving', 'failure');
    report(what, error);
  };
  scope.defer('listener', async () => {
    await listener.drain(drainMs);
    await listener.close(flags['request-timeout']);
  });
  scope.defer(
    'certificate',
    followCertificate({ read: certificate.read, clock, report: reportCertificate }, certificate.current, (next) => {
      listener.useCertificate(next);
      noteCertificate(next);
      certificates.reloaded('serving', 'success');
    }),
  );
  return listener;
}
