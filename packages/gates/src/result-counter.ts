import type { Counter, Histogram } from '@cluster-apiserver/telemetry';

/** Counts results and their durations. The series are looked up once, because every request has some. */
export function createResultCounter<Result extends string>(
  results: readonly Result[],
  counter: Counter<'result'>,
  duration: Histogram<'result'>,
): (result: Result, seconds: number) => void {
  const series = Object.fromEntries(
    results.map((result) => [result, { count: counter.series({ result }), observe: duration.series({ result }) }]),
  );
  return (result, seconds) => {
    const counted = series[result];
    counted?.count();
    counted?.observe(seconds);
  };
}
