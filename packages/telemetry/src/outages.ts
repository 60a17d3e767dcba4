import { BoundedCache, type Clock, formatDuration } from '@cluster-apiserver/base';
import type { Log } from './log.ts';
import type { LogFields } from './log-line.ts';

/** The lines of an outage of something outside of the server: a webhook, an issuer, etcd. */
export interface OutageMessages {
  readonly severity: 'warning' | 'error';
  readonly began: string;
  /** What an operator does about it. */
  readonly remedy: string;
  readonly ended: string;
  /** An outage ends with the first success this long after its last failure; 0 by default. One that comes and goes is one outage. */
  readonly steadyMs?: number;
}

export interface Outages {
  /** A failure of what the first fields name. */
  failed(what: LogFields, details: LogFields): void;
  succeeded(what: LogFields): void;
}

interface Outage {
  readonly sinceMs: number;
  loggedMs: number;
  failedMs: number;
  /** Since the last line. */
  failures: number;
}

const repeatMs = 60_000;
/** Names of webhooks come from objects. The outage that is forgotten begins again with its next failure. */
const outagesMax = 1_000;

/** Logs an outage when it begins, once a minute with its length while there are failures, and when it ends. */
export function createOutages(log: Log, clock: Clock, messages: OutageMessages): Outages {
  const { severity, began, remedy, ended, steadyMs = 0 } = messages;
  const current = new BoundedCache<Outage>({ entriesMax: outagesMax });
  const write = (fields: LogFields): void =>
    severity === 'error' ? log.error(began, remedy, fields) : log.warn(began, remedy, fields);
  return {
    failed: (what, details) => {
      const nowMs = clock.monotonicMs();
      const outage = current.get(keyOf(what));
      if (!outage) {
        current.set(keyOf(what), { sinceMs: nowMs, loggedMs: nowMs, failedMs: nowMs, failures: 0 });
        return write({ ...what, ...details });
      }
      outage.failedMs = nowMs;
      outage.failures++;
      if (nowMs - outage.loggedMs < repeatMs) return;
      write({ ...what, lasted: lastedSince(outage, nowMs), failures: outage.failures, ...details });
      outage.loggedMs = nowMs;
      outage.failures = 0;
    },
    succeeded: (what) => {
      if (current.size === 0) return;
      const outage = current.get(keyOf(what));
      const nowMs = clock.monotonicMs();
      if (!outage || nowMs - outage.failedMs < steadyMs) return;
      current.delete(keyOf(what));
      log.info(ended, { ...what, lasted: lastedSince(outage, nowMs) });
    },
  };
}

const keyOf = (what: LogFields): string => JSON.stringify(what);

/** In whole seconds: operators need no finer duration of an outage. */
const lastedSince = ({ sinceMs }: Outage, nowMs: number): string =>
  formatDuration(Math.round((nowMs - sinceMs) / 1_000) * 1_000);
