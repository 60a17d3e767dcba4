import type { Clock } from '@cluster-apiserver/base';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import { type Metrics, type Observe, secondsBuckets } from '@cluster-apiserver/telemetry';
import type { RequestInfo } from '../request-info.ts';
import type { ServedVersions } from '../served-versions.ts';
import {
  type LabeledRequest,
  labelsOf,
  requestLabels,
  type RequestLabels,
  scopeLabel,
  subresourceLabel,
  verbLabel,
} from './request-labels.ts';

/**
 * The request metrics. Handlers receive none: what they find out travels on the context of the request, as `info` does, and
 * `watchEnd` to the line of the log.
 */
export type Measures = ReturnType<typeof createRequestMeasures>;

export interface MeasuredRequest extends LabeledRequest {
  readonly code: number;
  readonly seconds: number;
  /** Seconds without the time spent waiting for admission webhooks. */
  readonly ownSeconds: number;
  /** Size of the body; undefined for a stream. */
  readonly bytes: number | undefined;
  /** The trace of the request, if it is sampled. */
  readonly trace: RecordedTrace | undefined;
}

export interface RecordedTrace {
  readonly traceId: string;
  readonly spanId: string;
}

/** Buckets of kube-apiserver. */
const sliSecondsBuckets = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const kilobyte = 1000;
const bytesBuckets = Array.from({ length: 7 }, (_, power) => kilobyte * 10 ** power);

/** The series of requests with the same labels. */
interface RequestSeries {
  readonly ended: (code: number) => void;
  readonly duration: Observe;
  readonly sliDuration: Observe;
  /** Undefined for writes, whose response sizes are not measured. */
  readonly responseSize: Observe | undefined;
}

export function createRequestMeasures(metrics: Metrics, clock: Clock, onChange: ServedVersions['onChange']) {
  const total = metrics.counter<keyof typeof requestLabels | 'dry_run' | 'code'>({
    name: 'apiserver_request_total',
    help: 'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code. A watch counts when it begins.',
    labels: { ...requestLabels, dry_run: ['', 'All'], code: 'any' },
  });
  const duration = metrics.histogram<keyof typeof requestLabels | 'dry_run'>({
    name: 'apiserver_request_duration_seconds',
    help: 'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component. Of a watch until its stream begins.',
    labels: { ...requestLabels, dry_run: ['', 'All'] },
    buckets: secondsBuckets,
  });
  const sliDuration = metrics.histogram<keyof typeof requestLabels>({
    name: 'apiserver_request_sli_duration_seconds',
    help: 'Response latency distribution (not counting webhook duration) in seconds for each verb, group, version, resource, subresource, scope and component. Of a watch until its stream begins.',
    labels: requestLabels,
    buckets: sliSecondsBuckets,
  });
  const responseSizes = metrics.histogram<keyof typeof requestLabels>({
    name: 'apiserver_response_sizes',
    help: 'Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component. Of GET and LIST.',
    labels: requestLabels,
    buckets: bytesBuckets,
  });
  const begin = (labels: RequestLabels, dry_run: string): RequestSeries => {
    const byCode = new Map<number, () => void>();
    return {
      ended: (code) => {
        let count = byCode.get(code);
        if (!count) byCode.set(code, (count = total.series({ ...labels, dry_run, code: String(code) })));
        count();
      },
      duration: duration.series({ ...labels, dry_run }),
      sliDuration: sliDuration.series(labels),
      responseSize: labels.verb === 'GET' || labels.verb === 'LIST' ? responseSizes.series(labels) : undefined,
    };
  };
  const table = new SeriesTable(begin);
  onChange(() => table.clear());
  return {
    /** Called once per request: when its response is ready, when a generated body has been sent, or when a stream begins. */
    record: (measured: MeasuredRequest): void => {
      const { code, seconds, ownSeconds, bytes, trace } = measured;
      const series = table.find(measured);
      series.ended(code);
      const exemplar = trace && { trace, atSeconds: clock.now() / 1000 };
      series.duration(seconds, exemplar);
      series.sliDuration(ownSeconds, exemplar);
      if (bytes !== undefined) series.responseSize?.(bytes);
    },
  };
}

type ByVerb = Map<string, RequestSeries[]>;

/** The series of requests, found by the kind that a request was routed to. Labels bound the other words, so that no client can grow it. */
class SeriesTable {
  readonly #begin: (labels: RequestLabels, dryRun: string) => RequestSeries;
  /** By the kind, or undefined, and the subresource. */
  readonly #rows = new Map<ServedKind | undefined, Map<string, ByVerb>>();

  constructor(begin: (labels: RequestLabels, dryRun: string) => RequestSeries) {
    this.#begin = begin;
  }

  find(measured: MeasuredRequest): RequestSeries {
    const { request, info, served } = measured;
    const byVerb = entryOf(entryOf(this.#rows, served), subresourceLabel(measured));
    const verb = verbLabel(request, info);
    let series = byVerb.get(verb);
    if (!series) byVerb.set(verb, (series = []));
    const isDry = info !== undefined && isDryRun(info);
    const index = scopes.indexOf(scopeLabel(info)) * 2 + Number(isDry);
    return (series[index] ??= this.#begin(labelsOf(measured), isDry ? 'All' : ''));
  }

  clear(): void {
    this.#rows.clear();
  }
}

const scopes = ['', 'cluster', 'namespace', 'resource'];

function entryOf<Key, Word, Value>(map: Map<Key, Map<Word, Value>>, key: Key): Map<Word, Value> {
  let found = map.get(key);
  if (!found) map.set(key, (found = new Map()));
  return found;
}

/** Reads ignore the parameter. */
const isDryRun = ({ verb, query }: RequestInfo): boolean =>
  query.size > 0 && verb !== 'get' && verb !== 'list' && verb !== 'watch' && query.has('dryRun');
