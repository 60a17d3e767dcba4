import { parseDuration } from '@cluster-apiserver/base';
import { dateFormats, parseUrl, readIpv6 } from '@cluster-apiserver/expressions';
import type { Format } from '@cluster-apiserver/model/schema';
import { labelNames, subdomainNames } from '@cluster-apiserver/model/validation';

/** Formats of numbers, by the type that they belong to. */
const numberFormats: ReadonlyMap<string, readonly string[]> = new Map([
  ['integer', ['int32', 'int64']],
  ['number', ['float', 'double']],
]);

/** The format of a schema; undefined for one that is unknown for the type, which limits nothing. */
export function findFormat(type: string | undefined, name: string): Format | undefined {
  if (numberFormats.get(type ?? '')?.includes(name)) return { name };
  if (type !== undefined && type !== '' && type !== 'string') return undefined;
  const matches = textFormats.get(name.replaceAll('-', ''));
  return matches && { name, matches };
}

type Test = (text: string) => boolean;

const uuid = (version: string, variant = '[0-9a-f]'): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');

const testOf =
  (pattern: RegExp): Test =>
  (text) =>
    pattern.test(text);

/** By their names without hyphens. They take linear time: no pattern repeats what it repeats. */
const textFormats: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['bsonobjectid', testOf(/^[0-9a-f]{24}$/i)],
  ['byte', (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)],
  ['cidr', isCidr],
  ['creditcard', isCreditCard],
  ['date', dateFormats.isDate],
  ['datetime', dateFormats.isDateTime],
  ['duration', isDuration],
  ['email', isEmail],
  ['hexcolor', testOf(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i)],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['k8slongname', (text) => subdomainNames.whole(text).length === 0],
  ['k8sshortname', (text) => labelNames.whole(text).length === 0],
  ['mac', isMac],
  ['password', () => true],
  ['rgbcolor', isRgbColor],
  ['ssn', testOf(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['uri', isUri],
  ['uuid', testOf(uuid('[0-9a-f]'))],
  ['uuid3', testOf(uuid('3'))],
  ['uuid4', testOf(uuid('4', '[89ab]'))],
  ['uuid5', testOf(uuid('5', '[89ab]'))],
]);

/** Four decimal numbers, also with leading zeros. */
function isIpv4(text: string): boolean {
  const parts = text.split('.', 5);
  return parts.length === 4 && parts.every((part) => /^\d{1,10}$/.test(part) && Number(part) < 256);
}

function isIpv6(text: string): boolean {
  return readIpv6(text) !== undefined;
}

function isCidr(text: string): boolean {
  const [address = '', length = '', ...more] = text.split('/', 3);
  if (more.length > 0 || !/^\d{1,3}$/.test(length)) return false;
  const bits = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1;
  return Number(length) <= bits;
}

/** Six, eight or twenty bytes, with one separator throughout or none: of each byte, or, as a dot, of each two. */
function isMac(text: string): boolean {
  if (text.length > macCharactersMax) return false;
  const separator = /[:.-]/.exec(text)?.[0];
  if (separator === undefined) return /^(?:[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40})$/i.test(text);
  const groups = text.split(separator);
  const digits = separator === '.' ? 4 : 2;
  const bytes = (groups.length * digits) / 2;
  return [6, 8, 20].includes(bytes) && groups.every((group) => group.length === digits && /^[0-9a-f]+$/i.test(group));
}
const macCharactersMax = 59;

/** A name alone has no more than one hyphen, after its first character. */
function isHostname(text: string): boolean {
  if (text === '' || Buffer.byteLength(text) > 255) return false;
  const labels = text.split('.');
  if (labels.some((label) => Buffer.byteLength(label) > 63)) return false;
  if (labels.length === 1) return hostAlone.test(text);
  return labels.slice(0, -1).every((label) => hostLabel.test(label)) && topLabel.test(labels.at(-1) ?? '');
}
const hostAlone = /^[a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]*$/u;
const hostLabel = /^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]*[a-zA-Z0-9\p{S}\p{L}])?$/u;
const topLabel = /^[a-zA-Z\p{L}]{2,63}$/u;

/** An address, or a name and an address in angle brackets. */
function isEmail(text: string): boolean {
  const [, bracketed] = /^[^<>]*<([^<>]*)>\s*$/.exec(text) ?? [];
  const address = (bracketed ?? text).trim();
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at);
  const domain = address.slice(at + 1);
  return at > 0 && isLocalPart(local) && (isDotted(domain) || /^\[[^[\]\\]*\]$/.test(domain));
}
const isLocalPart = (text: string): boolean => isDotted(text) || /^"(?:[^"\\\r\n]|\\[^\r\n])*"$/.test(text);
const isDotted: Test = (text) =>
  text.split('.').every((atom) => /^[\w!#$%&'*+/=?^`{|}~\u0080-\u{10ffff}-]+$/u.test(atom));

function isUri(text: string): boolean {
  if (text === '' || /[\p{Cc}\s]/u.test(text) || (!text.startsWith('/') && !/^[a-z][a-z0-9+.-]*:/i.test(text)))
    return false;
  try {
    parseUrl(text);
    return true;
  } catch {
    return false;
  }
}

/** A duration of Go, or numbers with the names of units: `3 weeks`. */
function isDuration(text: string): boolean {
  return parseDuration(text) !== undefined || durationWords.test(text);
}
const durationWords =
  /(?:^|[^\d])\d{1,18}\s*(?:ns|nanos?|nanosec(?:ond)?s?|us|µs|micros?|microsec(?:ond)?s?|ms|millis?|millisec(?:ond)?s?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)(?![a-zA-Zµ])/i;

function isRgbColor(text: string): boolean {
  const [, ...parts] = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text) ?? [];
  return parts.length === 3 && parts.every((part) => Number(part) < 256 && (part === '0' || !part.startsWith('0')));
}

const digitsOf = (text: string): readonly number[] => Array.from(text, Number);

/** Groups of digits may be apart by spaces and hyphens. */
const withoutSeparators = (text: string): string => text.slice(0, isbnCharactersMax).replaceAll(/[\s-]/g, '');
const isbnCharactersMax = 64;

function isIsbn10(text: string): boolean {
  const plain = withoutSeparators(text);
  if (!/^\d{9}[\dX]$/.test(plain)) return false;
  const sum = Array.from(plain, (digit, index) => (index + 1) * (digit === 'X' ? 10 : Number(digit)));
  return sum.reduce((all, one) => all + one, 0) % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const plain = withoutSeparators(text);
  if (!/^\d{13}$/.test(plain)) return false;
  return digitsOf(plain).reduce((sum, digit, index) => sum + digit * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

/** 13 to 16 digits of known issuers, the last of which is a check digit. */
function isCreditCard(text: string): boolean {
  const plain = withoutSeparators(text);
  if (!issuers.test(plain)) return false;
  const sum = digitsOf(plain)
    .toReversed()
    .map((digit, index) => (index % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9))
    .reduce((all, one) => all + one, 0);
  return sum % 10 === 0;
}
const issuers =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d)\d{12}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14})$/;
