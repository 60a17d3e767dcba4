import {
  allowTrailingDash,
  dnsWordLabel,
  labelNames,
  labelValueRule,
  type NameRule,
  qualifiedName,
  subdomainNames,
} from '@cluster-apiserver/model/validation';
import { parseUrl } from '../values/url.ts';
import { Opaque, Optional } from '../values/value.ts';
import { defineFunction, defineMethod, type Overload } from './overload.ts';
import { succeeds } from './succeeds.ts';

/** A rule for texts that has a name: `format.dns1123Label()`. */
export class NamedFormat extends Opaque {
  override readonly typeName = 'kubernetes.NamedFormat';
  readonly rule: NameRule;
  /** Of kube-apiserver's pattern for it, which determines the cost of a validation there. */
  readonly patternSize: number;

  constructor(rule: NameRule, patternSize: number) {
    super();
    this.rule = rule;
    this.patternSize = patternSize;
  }

  override equals(other: Opaque): boolean {
    return other === this;
  }
}

const patternSizes: ReadonlyMap<string, number> = new Map([
  ['dns1123Subdomain', 60],
  ['dns1123SubdomainPrefix', 60],
  ['qualifiedName', 60],
  ['labelValue', 40],
  ['uri', 1103],
  ['uuid', 70],
  ['byte', 84],
  ['date', 71],
  ['datetime', 71],
]);

const formats: ReadonlyMap<string, NamedFormat> = new Map(
  Object.entries({
    dns1123Label: labelNames.whole,
    dns1123LabelPrefix: allowTrailingDash(labelNames.whole),
    dns1123Subdomain: subdomainNames.whole,
    dns1123SubdomainPrefix: allowTrailingDash(subdomainNames.whole),
    dns1035Label: dnsWordLabel,
    dns1035LabelPrefix: allowTrailingDash(dnsWordLabel),
    qualifiedName,
    labelValue: labelValueRule,
    uri: createRule('invalid URI', (text) => succeeds(() => parseUrl(text))),
    uuid: createRule('does not match the UUID format', (text) =>
      /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
    ),
    byte: createRule('invalid base64', (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)),
    date: createRule('invalid date', isDate),
    datetime: createRule('invalid datetime', isDateTime),
  }).map(([name, check]) => [name, new NamedFormat(check, patternSizes.get(name) ?? 30)]),
);

/** Kubernetes' formats. Those of names say the same as the validation of objects does. */
export const namedFormats: readonly Overload[] = [
  ...Array.from(formats, ([name, format]) =>
    defineFunction(`format.${name}() -> kubernetes.NamedFormat`, () => format),
  ),
  defineFunction(
    'format.named(string) -> optional(kubernetes.NamedFormat)',
    (name: string) => new Optional(formats.get(name)),
  ),
  defineMethod(
    'kubernetes.NamedFormat',
    'validate(string) -> optional(list(string))',
    (format: NamedFormat, text: string) => {
      const problems = format.rule(text);
      return problems.length === 0 ? new Optional() : new Optional(problems);
    },
  ),
];

function createRule(problem: string, holds: (text: string) => boolean): NameRule {
  return (text) => (holds(text) ? [] : [problem]);
}

/** Also the formats of schemas. */
export const dateFormats = { isDate, isDateTime };

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const day = Date.parse(text);
  // A day that a month does not have would be read as one of the next month.
  return !Number.isNaN(day) && new Date(day).toISOString().slice(0, 10) === text;
}

function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t', 2);
  const [, hours, minutes, seconds] = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  return isDate(date) && Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
}
