import type { Clock } from '@cluster-apiserver/base';
import type { AuditLevel, AuditPolicy } from '@cluster-apiserver/config';
import type { AuditBackend } from './backend.ts';
import { type AuditedRequest, Recorder, type RecorderContext } from './recorder.ts';

export interface AuditorOptions {
  readonly clock: Clock;
  /** The active policy, which is evaluated once per request. */
  readonly policy: () => AuditPolicy;
  readonly backend: AuditBackend;
  readonly measures: AuditMeasures;
  /** Called with an error because of which objects were omitted from an event. */
  readonly report: (error: unknown) => void;
}

/** Metrics of auditing. */
export interface AuditMeasures {
  /** An event was created. */
  event(): void;
  /** The level that the policy chose for a request. */
  level(level: AuditLevel): void;
  /** A request was rejected because its first event could not be recorded. */
  rejected(): void;
}

/** Records requests by the audit policy. */
export function createAuditor(options: AuditorOptions): {
  begin(request: AuditedRequest, name: string | undefined): Recorder;
} {
  const { objectCharactersMax } = options.backend;
  const context: RecorderContext = { ...options, objectCharactersMax, serializingCharacters: 0 };
  return { begin: (request, name) => new Recorder(context, request, name) };
}
