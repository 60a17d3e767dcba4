import type { Clock } from '@cluster-apiserver/base';

/** One thing that must be well. Its promise rejects when it is not. */
export interface HealthCheck {
  readonly name: string;
  check(): void | Promise<void>;
}

/** What is asked of an endpoint of checks. */
export interface HealthQuestion {
  /** One check alone; undefined for all. */
  readonly only?: string | undefined;
  readonly verbose: boolean;
  readonly exclude: readonly string[];
}

export interface HealthAnswer {
  readonly status: number;
  readonly text: string;
}

/** A check that has not answered by then has failed: whoever asks needs an answer more than the truth. */
const checkTimeoutMs = 2_500;

/**
 * Answers for `livez`, `readyz` and `healthz`. Why a check failed is for the log: the caller may be anybody.
 */
export async function askHealth(
  endpoint: string,
  checks: readonly HealthCheck[],
  question: HealthQuestion,
  { clock, report }: { readonly clock: Clock; readonly report: (check: string, error: unknown) => void },
): Promise<HealthAnswer | undefined> {
  const asked = question.only === undefined ? checks : checks.filter(({ name }) => name === question.only);
  if (asked.length === 0) return undefined;
  const results = await Promise.all(
    asked.map(async (check) => {
      if (question.exclude.includes(check.name)) return { line: `[+]${check.name} excluded: ok`, well: true };
      try {
        await within(clock, check);
        return { line: `[+]${check.name} ok`, well: true };
      } catch (error) {
        report(`${endpoint}/${check.name}`, error);
        return { line: `[-]${check.name} failed: reason withheld`, well: false };
      }
    }),
  );
  const well = results.every((result) => result.well);
  if (well && !question.verbose) return { status: 200, text: 'ok' };
  const unknown = question.exclude.filter((name) => !checks.some((check) => check.name === name));
  const warnings = unknown.length > 0 ? [`warn: some health checks cannot be excluded: no matches for ${unknown.map((name) => JSON.stringify(name)).join(', ')}`] : [];
  return { status: well ? 200 : 500, text: [...results.map(({ line }) => line), ...warnings, `${endpoint} check ${well ? 'passed' : 'failed'}`, ''].join('\n') };
}

function within(clock: Clock, { name, check }: HealthCheck): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(checkTimeoutMs, () => reject(new Error(`${name} gave no answer in ${checkTimeoutMs} ms`)));
    Promise.resolve()
      .then(check)
      .then(resolve, reject)
      .finally(cancel);
  });
}
