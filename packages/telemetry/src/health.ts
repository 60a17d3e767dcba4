import type { Clock } from '@cluster-apiserver/base';

/** Liveness, readiness, and the deprecated endpoint that combined both. */
export type Endpoint = 'livez' | 'readyz' | 'healthz';

export interface HealthCheck {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** Throws or rejects if the check fails. The reason is logged and not sent to the client, which may be anonymous. */
  readonly check: () => void | Promise<void>;
}

export interface HealthResponse {
  readonly status: 200 | 404 | 500;
  readonly text: string;
}

export interface HealthQuery {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
}

export interface Health {
  add(check: HealthCheck): void;
  /** Runs all checks of an endpoint. `verbose` lists them even if they pass. */
  checkAll(endpoint: Endpoint, query: HealthQuery): Promise<HealthResponse>;
  /** Runs one check by name. */
  checkOne(endpoint: Endpoint, name: string): Promise<HealthResponse>;
}

export interface HealthOptions {
  readonly clock: Clock;
  /** Called with the result of each check. */
  readonly checked?: (endpoint: Endpoint, check: string, passed: boolean) => void;
  readonly failed: (endpoint: Endpoint, check: string, error: unknown) => void;
}

/** Timeout of a check: less than the default probe timeout of a second. */
const checkTimeoutMs = 800;

export function createHealth({ clock, checked, failed }: HealthOptions): Health {
  const checks: HealthCheck[] = [{ name: 'ping', endpoints: ['livez', 'readyz', 'healthz'], check: () => {} }];
  const passes = async (endpoint: Endpoint, check: HealthCheck): Promise<boolean> => {
    try {
      await checkInTime(check, clock);
      checked?.(endpoint, check.name, true);
      return true;
    } catch (error) {
      checked?.(endpoint, check.name, false);
      failed(endpoint, check.name, error);
      return false;
    }
  };
  const runCheck = async (
    endpoint: Endpoint,
    check: HealthCheck,
    excluded: boolean,
  ): Promise<{ line: string; passed: boolean }> => {
    if (excluded) return { line: `[+]${check.name} excluded: ok`, passed: true };
    const passed = await passes(endpoint, check);
    return { line: passed ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`, passed };
  };
  return {
    add: (check) => void checks.push(check),
    checkAll: async (endpoint, { verbose, exclude }) => {
      const selected = checks.filter(({ endpoints }) => endpoints.includes(endpoint));
      const results = await Promise.all(
        selected.map((check) => runCheck(endpoint, check, exclude.includes(check.name))),
      );
      const passed = results.every((one) => one.passed);
      if (passed && !verbose) return { status: 200, text: 'ok' };
      const unknown = exclude.filter((name) => !selected.some((check) => check.name === name));
      const lines = [
        ...results.map(({ line }) => line),
        ...(unknown.length > 0 ? [describeUnknown(unknown)] : []),
        `${endpoint} check ${passed ? 'passed' : 'failed'}`,
      ];
      return { status: passed ? 200 : 500, text: `${lines.join('\n')}\n` };
    },
    checkOne: async (endpoint, name) => {
      const check = checks.find((candidate) => candidate.name === name && candidate.endpoints.includes(endpoint));
      if (!check) return { status: 404, text: '404 page not found\n' };
      return (await passes(endpoint, check))
        ? { status: 200, text: 'ok' }
        : { status: 500, text: 'internal server error: reason withheld\n' };
    },
  };
}

const describeUnknown = (unknown: readonly string[]): string =>
  `warn: some health checks cannot be excluded: no matches for ${unknown.map((name) => JSON.stringify(name)).join(',')}`;

function checkInTime({ check }: HealthCheck, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(checkTimeoutMs, () => reject(new Error(`no answer within ${checkTimeoutMs} ms`)));
    Promise.resolve().then(check).then(resolve, reject).finally(cancel);
  });
}
