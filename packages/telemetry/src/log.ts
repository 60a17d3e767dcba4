import type { Clock } from '@cluster-apiserver/base';
import { createLogLimit } from './log-limit.ts';
import { type LogEntry, formatJsonLine, type LogFields, type Severity, createTextFormatter } from './log-line.ts';

/**
 * Structured log: constant messages, and fields for what varies. See docs/decisions/0050-logs.md.
 */
export interface Log {
  info(message: string, fields?: LogFields): void;
  /**
   * Warnings and errors say what an operator does about them. docs/messages.md lists both, so they are literals. Errors in
   * fields are printed with their causes, outermost first.
   */
  warn(message: string, remedy: string, fields?: LogFields): void;
  error(message: string, remedy: string, fields?: LogFields): void;
  /**
   * Written only if the verbosity reaches the level. A function for `fields` defers their computation until many lines are
   * formatted together.
   */
  debug(level: number, message: string, fields?: LogFields | (() => LogFields)): void;
  readonly verbosity: number;
  /** The log of a component; its name replaces klog's file and line. */
  withName(component: string): Log;
  /** Number of lines not written. */
  readonly omitted: Readonly<Record<Omission, number>>;
}

/**
 * Why a line was not written: too many with its message, a slow reader, or a failing output, such as a closed pipe.
 */
export type Omission = 'rate_limit' | 'backlog' | 'output_error';

export interface LogOptions {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
  readonly pid: number;
  readonly clock: Clock;
  /** Must not block. Returns false for a dropped line. */
  readonly write: (line: string) => unknown;
  /** Accepts a line that is formatted when it is written. By default lines are formatted at once. */
  readonly writeLater?: (format: () => string) => unknown;
  /** Number of accepted lines that could not be written. */
  readonly lostLines?: () => number;
}

/** Component of lines without a name. */
const wholeServer = 'server';

const createDroppedEntry = (count: number): LogEntry => ({
  severity: 'warning',
  level: 0,
  component: 'log',
  // Meaning: Lines are missing above this one, because standard error took no more or failed.
  message: 'log lines dropped',
  fields: { count, remedy: 'make the reader of standard error faster, or lower --v: docs/logs.md' },
});

export function createLog(options: LogOptions): Log {
  const { clock, format, verbosity, pid, write, lostLines = () => 0 } = options;
  const { writeLater = (line) => write(line()) } = options;
  const formatLine = format === 'json' ? formatJsonLine : createTextFormatter(pid);
  const limit = createLogLimit(clock);
  const omitted = { rate_limit: 0, backlog: 0, output_error: 0 };
  let reported = 0;

  const emit = (entry: LogEntry): boolean => write(formatLine(entry, clock.now())) !== false;
  /** Logs how many lines are missing before the next one. */
  const reportMissing = (): void => {
    omitted.output_error = lostLines();
    const missing = omitted.backlog + omitted.output_error;
    if (missing > reported && emit(createDroppedEntry(missing - reported))) reported = missing;
  };
  const logLine = (severity: Severity, level: number, component: string, message: string, fields: LogFields): void => {
    reportMissing();
    if (!emit({ severity, level, component, message, fields })) omitted.backlog++;
  };
  /** Clients can cause these lines, so their rate is limited by message. */
  const logLimited = (severity: Severity, component: string, message: string, fields: LogFields = {}): void => {
    const suppressed = limit(`${component} ${message}`, (count) =>
      logLine(severity, 0, component, message, { suppressed: count }),
    );
    if (suppressed === undefined) omitted.rate_limit++;
    else logLine(severity, 0, component, message, suppressed > 0 ? { ...fields, suppressed } : fields);
  };
  const withName = (component: string): Log => ({
    info: (message, fields) => logLimited('info', component, message, fields),
    warn: (message, remedy, fields) => logLimited('warning', component, message, { ...fields, remedy }),
    error: (message, remedy, fields) => logLimited('error', component, message, { ...fields, remedy }),
    // Not rate-limited: operators enable these lines explicitly.
    debug: (level, message, fields = {}) => {
      if (level > verbosity) return;
      if (typeof fields !== 'function') return logLine('info', level, component, message, fields);
      reportMissing();
      const timeMs = clock.now();
      const formatLater = (): string =>
        formatLine({ severity: 'info', level, component, message, fields: fields() }, timeMs);
      if (writeLater(formatLater) === false) omitted.backlog++;
    },
    verbosity,
    withName,
    omitted,
  });
  return withName(wholeServer);
}
