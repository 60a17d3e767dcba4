import { asError, type CleanupStack } from '@cluster-apiserver/base';
import type { ApiRequest, Handler, Listener, ReportFailure, ServingCertificate } from '@cluster-apiserver/pipeline';
import { FlagError } from '../flags/flag.ts';
import type { Followed } from '../files/follow-files.ts';
import type { ServerContext } from '../configuration/context.ts';
import type { ServingSettings } from './serving-settings.ts';
import { createListenerMeasures } from './listener-measures.ts';
import { withRefusedConnectionLog } from './rejection-log.ts';
import { createRefusalLog } from './request-log.ts';

/** Time for clients to close connections by themselves at shutdown. Requests in flight are still answered after it. */
export const drainMs = 10_000;

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

/** Opens the port, and uses the next serving certificate when its files change. */
export async function openListener(
  handler: Handler<ApiRequest>,
  certificate: Followed<ServingCertificate>,
  settings: ServingSettings & { readonly requestsCertificates: boolean },
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Listener> {
  const { environment, log, metrics } = context;
  const { host, port, goawayChance, connectionsPerPeerMax, streamsMax, requestsCertificates } = settings;
  const { clock, random, listen } = environment;
  const first = certificate.current();
  const report: ReportFailure = (what, error, request) =>
    log.withName('listener').error(
      // Meaning: The code that serves a connection failed, or none could be accepted. The connection is closed;
      // others go on.
      'a connection failed in the server',
      'report the stack as a bug; after EMFILE raise the limit of open files: docs/operate.md',
      { what, ...request, error: asError(error), stack: asError(error).stack },
    );
  const measures = withRefusedConnectionLog(createListenerMeasures(metrics), log, clock);
  const logRefusal = createRefusalLog(log);
  const listener = await withListenErrors(() =>
    listen(
      {
        host,
        port,
        certificate: first,
        requestsCertificates,
        clock,
        random,
        goawayChance,
        connectionsPerPeerMax,
        measures,
        streamsMax,
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
    await listener.close(settings.requestTimeoutMs);
  });
  const useCertificate = (): void => listener.useCertificate(certificate.current());
  certificate.onChange(useCertificate);
  // It may have changed while the port was opened.
  if (certificate.current() !== first) useCertificate();
  return listener;
}
