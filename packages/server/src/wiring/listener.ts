import type { Scope } from '@cluster-apiserver/base';
import {
  type ApiRequest,
  defaultStreamsMax,
  followCertificate,
  type Handler,
  type Listener,
  type ReportFailure,
} from '@cluster-apiserver/pipeline';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { ServerFlags } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';
import { servingCertificate } from './certificate.ts';
import { asksForCertificates } from './client-certificates.ts';
import { listenerMeasures } from './listener-measures.ts';

/** How long clients are asked to leave by themselves. What they have sent by then is still answered, in its own time. */
export const drainMs = 10_000;

/** The port, with the certificate that lies in its file at the time. */
export async function openListener(
  handler: Handler<ApiRequest>,
  flags: ServerFlags,
  surroundings: Surroundings,
  log: Log,
  metrics: Metrics,
  scope: Scope,
): Promise<Listener> {
  const { clock, random, listen } = surroundings;
  const certificate = await servingCertificate(flags, surroundings, log);
  const report: ReportFailure = (what, error, request) =>
    log.error(what, { ...request, error: asError(error), stack: asError(error).stack });
  const listener = await listen(
    {
      host: flags['bind-address'],
      port: flags['secure-port'],
      certificate: certificate.current,
      asksForCertificates: asksForCertificates(flags),
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
  scope.onClose('listener', async () => {
    await listener.drain(drainMs);
    await listener.close(flags['request-timeout']);
  });
  scope.onClose(
    'certificate',
    followCertificate({ read: certificate.read, clock, report }, certificate.current, (next) =>
      listener.useCertificate(next),
    ),
  );
  return listener;
}
