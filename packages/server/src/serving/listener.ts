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
import { FlagError } from '../flags/flags.ts';
import { openServingCertificate } from './serving-certificate.ts';
import { requestsClientCertificates } from '../authentication/client-certificates.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import type { WiringContext } from '../configuration/context.ts';
import { createListenerMeasures } from './listener-measures.ts';
import { createRefusalLog } from './request-log.ts';

/** Time for clients to close connections by themselves at shutdown. Requests in flight are still answered after it. */
export const drainMs = 10_000;

export interface ListenerOptions extends Omit<WiringContext, 'serverId'> {
  readonly certificates: CertificateMeasures;
}

/** By the code of the system: the flag that it is about. */
const listenFaults: Readonly<Record<string, string>> = {
  EADDRINUSE: 'secure-port',
  EACCES: 'secure-port',
  EADDRNOTAVAIL: 'bind-address',
  EAFNOSUPPORT: 'bind-address',
};

async function withListenErrors<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const flag = listenFaults[code];
    throw flag ? new FlagError([`--${flag}: cannot listen: ${asError(error).message}`]) : error;
  }
}

/** Opens the port, and reloads the serving certificate when its files change. */
export async function openListener(
  handler: Handler<ApiRequest>,
  { flags, environment, log, metrics, records, certificates }: ListenerOptions,
  cleanup: CleanupStack,
): Promise<Listener> {
  const { clock, random, listen } = environment;
  const certificate = await openServingCertificate(flags, environment, log);
  const report: ReportFailure = (what, error, request) =>
    log.withName('listener').error(what, { ...request, error: asError(error), stack: asError(error).stack });
  const measures = createListenerMeasures(metrics);
  const logRefusal = createRefusalLog(log);
  const listener = await withListenErrors(() =>
    listen(
      {
        host: flags['bind-address'],
        port: flags['secure-port'],
        certificate: certificate.current,
        requestsCertificates: requestsClientCertificates(flags),
        clock,
        random,
        goawayChance: flags['goaway-chance'],
        connectionsPerPeerMax: flags['max-connections-per-peer'],
        measures,
        streamsMax: flags['http2-max-streams-per-connection'] || defaultStreamsMax,
        reportRefusal: (refusal, remoteAddress) => {
          measures.countRefusedRequest(refusal.code);
          logRefusal(refusal, remoteAddress);
        },
        report,
      },
      handler,
    ),
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
    // Certificate and key are loaded together.
    for (const record of [certRecord, keyRecord]) record.failed(error);
    certificates.reloaded('serving', 'failure');
    report(what, error);
  };
  cleanup.defer('listener', async () => {
    await listener.drain(drainMs);
    await listener.close(flags['request-timeout']);
  });
  cleanup.defer(
    'certificate',
    followCertificate({ read: certificate.read, clock, report: reportCertificate }, certificate.current, (next) => {
      listener.useCertificate(next);
      noteCertificate(next);
      certificates.reloaded('serving', 'success');
    }),
  );
  return listener;
}
