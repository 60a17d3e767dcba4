import type { CleanupStack } from '@cluster-apiserver/base';
import {
  type ApiRequest,
  defaultStreamsMax,
  type Handler,
  type Listener,
  type ReportFailure,
} from '@cluster-apiserver/pipeline';
import { asError } from '../as-error.ts';
import { FlagError } from '../flags/flags.ts';
import { followServingCertificate } from './serving-certificate.ts';
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
  context: ListenerOptions,
  cleanup: CleanupStack,
): Promise<Listener> {
  const { flags, environment, log, metrics } = context;
  const { clock, random, listen } = environment;
  const certificate = await followServingCertificate(flags, context, cleanup);
  const first = certificate.current();
  const report: ReportFailure = (what, error, request) =>
    log.withName('listener').error(what, { ...request, error: asError(error), stack: asError(error).stack });
  const measures = createListenerMeasures(metrics);
  const logRefusal = createRefusalLog(log);
  const listener = await withListenErrors(() =>
    listen(
      {
        host: flags['bind-address'],
        port: flags['secure-port'],
        certificate: first,
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
  cleanup.defer('listener', async () => {
    await listener.drain(drainMs);
    await listener.close(flags['request-timeout']);
  });
  const useCertificate = (): void => listener.useCertificate(certificate.current());
  certificate.onChange(useCertificate);
  // It may have changed while the port was opened.
  if (certificate.current() !== first) useCertificate();
  return listener;
}
