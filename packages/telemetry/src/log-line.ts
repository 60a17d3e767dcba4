import { errorMessage } from '@cluster-apiserver/base';

/**
 * Formats an entry in the structured format of klog, or as JSON with the fields of kube-apiserver. Values are escaped, so that
 * they cannot end a field or a line, or send control sequences to a terminal.
 */
export interface LogEntry {
  readonly severity: Severity;
  /** The verbosity that writes it. */
  readonly level: number;
  readonly component: string;
  readonly message: string;
  readonly fields: LogFields;
}

export type Severity = 'info' | 'warning' | 'error';
export type LogFields = Readonly<Record<string, LogValue>>;
export type LogValue = string | number | boolean | undefined | Error;

/** `I1122 18:00:00.123000    4711 etcd] "etcd reachable again" afterMs=12` */
export function createTextFormatter(pid: number): (entry: LogEntry, timeMs: number) => string {
  const process = String(pid).padStart(pidWidth);
  const time = cacheSeconds((at) => `${at.slice(5, 7)}${at.slice(8, 10)} ${at.slice(11, 19)}`);
  return ({ severity, component, message, fields }, timeMs) => {
    let line = `${letters[severity]}${time(timeMs)}.${formatMilliseconds(timeMs)}000 ${process} ${component}] ${formatValue(message)}`;
    for (const name in fields) {
      const value = fields[name];
      if (value !== undefined) line += textNames.of(name) + formatValue(value);
    }
    return `${line}\n`;
  };
}

/** `{"ts":1763834400123,"level":"info","logger":"etcd","msg":"etcd reachable again","v":0,"afterMs":12}` */
export function formatJsonLine({ severity, level, component, message, fields }: LogEntry, timeMs: number): string {
  let line = `{"ts":${timeMs},"level":"${severity}","logger":"${component}","msg":${formatValue(message)},"v":${level}`;
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined) line += jsonNames.of(name) + formatValue(value);
  }
  return `${line}}\n`;
}

const letters: Readonly<Record<Severity, string>> = { info: 'I', warning: 'W', error: 'E' };

/** Width of the PID in klog. */
const pidWidth = 7;

const msPerSecond = 1000;

/** Formats a time up to its seconds in UTC. Cached, because most lines are in the same second as the previous one. */
function cacheSeconds(read: (iso: string) => string): (timeMs: number) => string {
  let second: number | undefined;
  let text = '';
  return (timeMs) => {
    const at = Math.floor(timeMs / msPerSecond);
    if (at !== second) {
      second = at;
      text = read(new Date(timeMs).toISOString());
    }
    return text;
  };
}

const formatMilliseconds = (timeMs: number): string => String(Math.floor(timeMs) % msPerSecond).padStart(3, '0');

/** Caches the formatted names of fields: there are few, and a request line has twenty. */
class FieldNames {
  readonly #known = new Map<string, string>();
  readonly #form: (name: string) => string;

  constructor(form: (name: string) => string) {
    this.#form = form;
  }

  of(name: string): string {
    let text = this.#known.get(name);
    // klog names the field of an error `err`.
    if (text === undefined) this.#known.set(name, (text = this.#form(name === 'error' ? 'err' : name)));
    return text;
  }
}

const textNames = new FieldNames((name) => ` ${name}=`);
const jsonNames = new FieldNames((name) => `,"${name}":`);

function formatValue(value: Exclude<LogValue, undefined>): string {
  if (typeof value === 'string') return quote(value);
  if (value instanceof Error) return quote(describeWithCauses(value));
  return typeof value === 'number' && !Number.isFinite(value) ? `"${value}"` : String(value);
}

/** Bounds cyclic chains of causes. */
const causesMax = 10;

/** `reading the key: etcd 10.0.0.1: connection refused`. Causes that a message already contains are omitted. */
function describeWithCauses(error: unknown): string {
  const said: string[] = [];
  let count = 0;
  for (
    let cause = error;
    cause !== undefined && count < causesMax;
    cause = cause instanceof Error ? cause.cause : undefined
  ) {
    const text = cause instanceof Error ? describeError(cause) : errorMessage(cause);
    if (!said.some((earlier) => earlier.includes(text))) said.push(text);
    count++;
  }
  return said.join(': ');
}

const describeError = ({ name, message }: Error): string =>
  name === 'Error' || name === '' ? message : `${name}: ${message}`;

/** Longer values are truncated. */
const valueLengthMax = 2_000;

/** Quotes a string. One test suffices for most: printable ASCII without anything that looks like a credential. */
function quote(text: string): string {
  if (text.length <= valueLengthMax && !needsEscaping.test(text)) return `"${text}"`;
  const short = text.length > valueLengthMax ? `${text.slice(0, valueLengthMax)}…` : text;
  // Valid JSON and equal to Go's %q for these strings.
  return JSON.stringify(short.replace(credentials, '[hidden]')).replace(invisible, escapeCharacter);
}

/** Credentials inside other text: quoted headers, JWTs, private keys, URLs with passwords. */
const credentials =
  /\b(Bearer|Basic)\s+[\w.~+/=-]+|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(-----END [A-Z ]*PRIVATE KEY-----|$)|(?<=:\/\/[^\s:/@]{0,100}:)[^\s/@]+(?=@)/g;
/** Matches characters that require escaping, and the start of each kind of credential. */
const needsEscaping = /[^ !#-[\]-~]|Bea|Bas|eyJ|PRIVATE|:\/\//;
/** Control characters, bidirectional marks, line separators, unusual spaces and lone surrogates. */
const invisible = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

const escapeCharacter = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
