import type { Clock } from '@cluster-apiserver/base';
import { createLogLimit } from './log-limit.ts';
import { type Entry, formatJsonLine, type LogFields, type Severity, createTextFormatter } from './log-line.ts';

/**
 * Whoever runs the server reads these lines, and so do machines: a message that never varies, and fields that do.
 * See docs/decisions/0050-logs.md.
 */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** An error among the fields is printed with its causes, outermost first. */
  error(message: string, fields?: LogFields): void;
  /**
   * For whoever looks for a fault: written only when the verbosity reaches the level. Fields of what is logged often
   * may be found out later, when many lines are formatted together.
   */
  debug(level: number, message: string, fields?: LogFields | (() => LogFields)): void;
  readonly verbosity: number;
  /** The same log for one component, which stands in its lines where klog has file and line. */
  withName(component: string): Log;
  /** Lines that were not written so far. */
  readonly omitted: Readonly<Record<Omission, number>>;
}

/**
 * Why a line was not written: too many with its message, a reader of the log who is too slow, or an output that fails,
 * as a pipe does that nobody reads any more.
 */
export type Omission = 'rate_limit' | 'backlog' | 'output_error';

export interface LogOptions {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
  readonly pid: number;
  readonly clock: Clock;
  /** Must not block. Returns false for a line that it had to drop. */
  readonly write: (line: string) => unknown;
  /** The same for a line that may be formatted when it is written, many together. Without it they are at once. */
  readonly writeLater?: (format: () => string) => unknown;
  /** How many lines it had taken and could not write after all. */
  readonly lostLines?: () => number;
}

/** Of lines that no component has written. */
const wholeServer = 'server';

const createDroppedEntry = (count: number): Entry => ({
  severity: 'warning',
  level: 0,
  component: 'log',
  message: 'log lines dropped',
  fields: { count },
});

export function createLog(options: LogOptions): Log {
  const { clock, format, verbosity, pid, write, lostLines = () => 0 } = options;
  const { writeLater = (line) => write(line()) } = options;
  const formatLine = format === 'json' ? formatJsonLine : createTextFormatter(pid);
  const limit = createLogLimit(clock);
  const omitted = { rate_limit: 0, backlog: 0, output_error: 0 };
  let reported = 0;

  const emit = (entry: Entry): boolean => write(formatLine(entry, clock.now())) !== false;
  /** Says first how many lines are missing before this one. */
  const reportMissing = (): void => {
    omitted.output_error = lostLines();
    const missing = omitted.backlog + omitted.output_error;
    if (missing > reported && emit(createDroppedEntry(missing - reported))) reported = missing;
  };
  const logLine = (severity: Severity, level: number, component: string, message: string, fields: LogFields): void => {
    reportMissing();
    if (!emit({ severity, level, component, message, fields })) omitted.backlog++;
  };
  /** Clients can cause these lines, so there are never more of one than an operator can read. */
  const logLimited = (severity: Severity, component: string, message: string, fields: LogFields = {}): void => {
    const suppressed = limit(`${component} ${message}`, (count) =>
      logLine(severity, 0, component, message, { suppressed: count }),
    );
    if (suppressed === undefined) omitted.rate_limit++;
    else logLine(severity, 0, component, message, suppressed > 0 ? { ...fields, suppressed } : fields);
  };
  const withName = (component: string): Log => ({
    info: (message, fields) => logLimited('info', component, message, fields),
    warn: (message, fields) => logLimited('warning', component, message, fields),
    error: (message, fields) => logLimited('error', component, message, fields),
    // Whoever sets the verbosity wants to see them all.
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
