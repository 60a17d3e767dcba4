import { requireValue } from '@cluster-apiserver/base';
import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';

interface Named {
  readonly name: string;
  readonly help: string;
}

/** Counts results and their durations. The series are looked up once, because every request has some. */
export function createResultCounter<Result extends string>(
  metrics: Metrics,
  results: readonly Result[],
  counted: Named,
  measured: Named,
): (result: Result, seconds: number) => void {
  const labels = { result: results };
  const counter = metrics.counter({ ...counted, labels });
  const duration = metrics.histogram({ ...measured, labels, buckets: createDoublingBuckets(0.001, 15) });
  const series = new Map(
    results.map((result) => [result, [counter.series({ result }), duration.series({ result })] as const]),
  );
  return (result, seconds) => {
    const [count, observe] = requireValue(series.get(result));
    count();
    observe(seconds);
  };
}
