import type { Clock } from '@cluster-apiserver/base';
import type { MeasuredRequest, Measures, RequestInfo } from '@cluster-apiserver/pipeline';
import { type Metrics, type Observe, secondsBuckets } from '@cluster-apiserver/telemetry';
import {
  documentLabel,
  createRequestLabeler,
  requestLabels,
  type RequestLabels,
  scopeLabel,
  verbLabel,
} from './request-labels.ts';
import type { ServedVersions } from '../api/served-versions.ts';

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

export function createRequestMeasures(metrics: Metrics, versions: ServedVersions, clock: Clock): Measures {
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
  const seriesOf = createSeriesLookup(versions, begin);
  return {
    record: (measured) => {
      const { code, seconds, ownSeconds, bytes, trace } = measured;
      const series = seriesOf(measured);
      series.ended(code);
      const exemplar = trace && { trace, atSeconds: clock.now() / 1000 };
      series.duration(seconds, exemplar);
      series.sliDuration(ownSeconds, exemplar);
      if (bytes !== undefined) series.responseSize?.(bytes);
    },
  };
}

type Level<Next> = Map<string, Next>;

function levelOf<Next>(levels: Level<Level<Next>>, word: string): Level<Next> {
  let level = levels.get(word);
  if (!level) levels.set(word, (level = new Map<string, Next>()));
  return level;
}

/**
 * Finds the series of a request by nested maps, one per label, so that no string or object is allocated. The labeler bounds
 * the values, so clients cannot grow the maps.
 */
function createSeriesLookup(
  versions: ServedVersions,
  begin: (labels: RequestLabels, dryRun: string) => RequestSeries,
): (measured: MeasuredRequest) => RequestSeries {
  const labelsOf = createRequestLabeler(versions.find);
  const byLabels = new Map<string, RequestSeries>();
  const byWords: Level<Level<Level<Level<Level<Level<Level<RequestSeries>>>>>>> = new Map();
  const find = ({ request, info }: MeasuredRequest, dryRun: string): RequestSeries => {
    const labels = labelsOf(request, info);
    const name = JSON.stringify([labels, dryRun]);
    let series = byLabels.get(name);
    if (!series) byLabels.set(name, (series = begin(labels, dryRun)));
    const { verb, resource, group, version, subresource, scope } = labels;
    const ofResource = levelOf(levelOf(byWords, verb), resource);
    const ofVersion = levelOf(levelOf(ofResource, group), version);
    levelOf(levelOf(ofVersion, subresource), scope).set(dryRun, series);
    return series;
  };
  versions.onChange(() => {
    byLabels.clear();
    byWords.clear();
  });
  return (measured) => {
    const { request, info } = measured;
    const what = info?.resource;
    const dryRun = info && isDryRun(info) ? 'All' : '';
    const found = byWords
      .get(verbLabel(request, info))
      ?.get(what?.plural ?? '')
      ?.get(what?.group ?? '')
      ?.get(what?.version ?? '')
      ?.get(what ? (what.subresource ?? '') : documentLabel(info?.path ?? ''))
      ?.get(info ? scopeLabel(info) : '')
      ?.get(dryRun);
    return found ?? find(measured, dryRun);
  };
}

/** Reads ignore the parameter. */
const isDryRun = ({ verb, query }: RequestInfo): boolean =>
  query.size > 0 && verb !== 'get' && verb !== 'list' && verb !== 'watch' && query.has('dryRun');
