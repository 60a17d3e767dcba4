const unitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  // The Greek letter, which looks the same as the micro sign.
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration as operators write it: `1h30m`, `500ms`, `1.5s`, `0`. Undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  if (
    !/^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$/.test(
      text,
    )
  )
    return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/([0-9.]+)([a-zµμ]+)/g))
    sum += Number(number) * (unitsMs[unit as string] as number);
  return text.startsWith('-') ? -sum : sum;
}

/** As Go writes it: `1h0m0s`, `1.5s`, `250ms`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  const whole = Math.abs(ms);
  if (whole < 1000) return `${sign}${whole}ms`;
  const [hours, minutes] = [Math.floor(whole / 3_600_000), Math.floor(whole / 60_000) % 60];
  const seconds = (whole % 60_000) / 1000;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}
