/** Servers whose traces a test reads. */
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '../../../base/test/until.ts';
import type { OtlpReceiver, ReceivedSpan } from '../../../telemetry/test/otlp-receiver.ts';
import { type ServedKinds, type ServeOptions, serveKinds } from '../serve-kinds.ts';

const file = 'tracing.yaml';
export const million = 1_000_000;

export const serveTraced = (fields: object, options: ServeOptions = {}): Promise<ServedKinds> =>
  serveKinds(kinds, {
    ...options,
    flags: [`--tracing-config-file=${file}`, ...(options.flags ?? [])],
    files: {
      ...options.files,
      [file]: JSON.stringify({
        apiVersion: 'apiserver.config.platform.io/v1',
        kind: 'TracingConfiguration',
        ...fields,
      }),
    },
  });

/** The spans of one request, by its audit id, once all of them have come: the request's own is sent as the last. */
export async function traceOf(receiver: OtlpReceiver, auditId: string): Promise<readonly ReceivedSpan[]> {
  const request = await until(`the trace of ${auditId}`, () => requestSpan(receiver, auditId));
  return receiver.spans.filter(({ traceId }) => traceId === request.traceId);
}

export const requestSpan = ({ spans }: OtlpReceiver, auditId: string): ReceivedSpan | undefined =>
  spans.find(({ attributes }) => attributes['audit-id'] === auditId);
