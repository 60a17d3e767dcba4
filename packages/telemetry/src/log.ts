import type { Clock } from '@cluster-apiserver/base';
import { createLogLimit } from './log-limit.ts';

/** Whoever runs the server reads these lines, and so do machines: a message that never varies, and fields that do. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** An error among the fields is printed with its causes, outermost first. */
  error(message: string, fields?: LogFields): void;
  /** For whoever looks for a fault: written only when the verbosity reaches the level. */
  debug(level: number, message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, LogValue>>;
type LogValue = string | number | boolean | undefined | Error;

export interface LogOptions {
  readonly format: 'text' | 'json';
  readonly verbosity: number;
  readonly clock: Clock;
  /** Must not block. Answers false for a line that it had to drop. */
  readonly write: (line: string) => unknown;
}

/** A chain of causes longer than this is a circle. */
const causesMax = 10;
/** A value longer than this is somebody's body, not a fact about it. */
const valueLengthMax = 2_000;

export function createLog({ clock, format, verbosity, write }: LogOptions): Log {
  const formatted = format === 'json' ? jsonLine : textLine;
  const limit = createLogLimit(clock);
  let dropped = 0;
  const written = (level: Level, message: string, fields: LogFields): boolean => {
    const all = Object.entries(fields).flatMap(shown);
    return write(formatted(new Date(clock.now()).toISOString(), level, redacted(message), all)) !== false;
  };
  const line = (level: Level, message: string, fields: LogFields = {}): void => {
    if (dropped > 0 && written('warn', 'log lines dropped', { count: dropped })) dropped = 0;
    if (!written(level, message, fields)) dropped++;
  };
  /** Clients can cause these lines, so there are never more of one than an operator can read. */
  const limited = (level: Level, message: string, fields: LogFields = {}): void => {
    const suppressed = limit(message, (count) => line(level, message, { suppressed: count }));
    if (suppressed === undefined) return;
    line(level, message, suppressed > 0 ? { ...fields, suppressed } : fields);
  };
  return {
    info: (message, fields) => limited('info', message, fields),
    warn: (message, fields) => limited('warn', message, fields),
    error: (message, fields) => limited('error', message, fields),
    // Whoever sets the verbosity wants to see them all.
    debug: (level, message, fields) => {
      if (level <= verbosity) line('debug', message, fields);
    },
  };
}

type Level = 'debug' | 'info' | 'warn' | 'error';
type Shown = readonly [name: string, value: string | number | boolean];

function shown([name, value]: [string, LogValue]): Shown[] {
  if (value === undefined) return [];
  if (value instanceof Error) return [[name, redacted(withCauses(value))]];
  return [[name, typeof value === 'string' ? redacted(value) : value]];
}

/** `reading the key: etcd 10.0.0.1: connection refused`. A cause whose words the message repeats is not said twice. */
function withCauses(error: unknown): string {
  const said: string[] = [];
  let count = 0;
  for (
    let cause = error;
    cause !== undefined && count < causesMax;
    cause = cause instanceof Error ? cause.cause : undefined
  ) {
    const text = cause instanceof Error ? nameAndMessage(cause) : String(cause);
    if (!said.some((earlier) => earlier.includes(text))) said.push(text);
    count++;
  }
  return said.join(': ');
}

const nameAndMessage = ({ name, message }: Error): string =>
  name === 'Error' || name === '' ? message : `${name}: ${message}`;

const hidden = '[hidden]';
/** Credentials that came along inside other text: a header that was quoted, a JWT, a key, a URL with a password. */
const credentials =
  /\b(Bearer|Basic)\s+[\w.~+/=-]+|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(-----END [A-Z ]*PRIVATE KEY-----|$)|(?<=:\/\/[^\s:/@]{0,100}:)[^\s/@]+(?=@)/g;

function redacted(text: string): string {
  const short = text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
  return short.replace(credentials, hidden);
}

const jsonLine = (time: string, level: Level, message: string, fields: readonly Shown[]): string =>
  `${JSON.stringify({ time, level, message, ...Object.fromEntries(fields) })}\n`;

function textLine(time: string, level: Level, message: string, fields: readonly Shown[]): string {
  const rest = fields.map(([name, value]) => ` ${name}=${typeof value === 'string' ? quoted(value) : value}`);
  return `${time} ${level.toUpperCase().padEnd(5)} ${oneLine(message)}${rest.join('')}\n`;
}

/** Without quotes where nothing could be misread: a client must not be able to end a field or a line. */
const quoted = (value: string): string => (/^[\w.:/@+,*-]+$/.test(value) ? value : JSON.stringify(value));

const oneLine = (message: string): string => message.replace(/[\u0000-\u001f\u007f]/g, ' ');
