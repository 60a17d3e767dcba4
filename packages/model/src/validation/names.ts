/**
 * The rules for names, each as a function from a text to what is wrong with it: nothing is an empty list. Lengths are
 * counted in bytes, as the reference does.
 */
export type NameRule = (name: string) => readonly string[];

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const qualifiedPart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${qualifiedPart})?`;

const labelForm = new RegExp(`^${label}$`);
const subdomainForm = new RegExp(`^${label}(\\.${label})*$`);
const qualifiedPartForm = new RegExp(`^${qualifiedPart}$`);
const labelValueForm = new RegExp(`^${labelValue}$`);

const bytes = (text: string): number => Buffer.byteLength(text);
const tooLong = (max: number): string => `must be no more than ${max} bytes`;

export const dnsLabel: NameRule = (name) => [
  ...(bytes(name) > 63 ? [tooLong(63)] : []),
  ...(labelForm.test(name)
    ? []
    : [
        `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is '${label}')`,
      ]),
];

export const dnsSubdomain: NameRule = (name) => [
  ...(bytes(name) > 253 ? [tooLong(253)] : []),
  ...(matchesSubdomain(name)
    ? []
    : [
        `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${label}(\\.${label})*')`,
      ]),
];

/** Label by label, because the whole expression may backtrack on a long name that fails at its end. */
const matchesSubdomain = (name: string): boolean =>
  name.length < 64 ? subdomainForm.test(name) : name.split('.').every((part) => labelForm.test(part));

const partOfPathSegment: NameRule = (name) =>
  ['/', '%'].filter((forbidden) => name.includes(forbidden)).map((forbidden) => `may not contain '${forbidden}'`);

/** Anything that can stand between two slashes of a path. */
export const pathSegment: NameRule = (name) => [
  ...(name === '.' || name === '..' ? [`may not be '${name}'`] : []),
  ...partOfPathSegment(name),
];

/** How the objects of a kind may be called. */
export interface NameRules {
  readonly whole: NameRule;
  /** For `generateName`: a prefix that random letters will follow. */
  readonly prefix: NameRule;
}

export const pathSegmentNames: NameRules = { whole: pathSegment, prefix: partOfPathSegment };

/** A dash at the end is covered by the letters behind it. */
const namesBy = (rule: NameRule): NameRules => ({
  whole: rule,
  prefix: (prefix) => rule(prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -1)}a` : prefix),
});

export const subdomainNames: NameRules = namesBy(dnsSubdomain);
export const labelNames: NameRules = namesBy(dnsLabel);

/** `name` or `prefix/name`, as label keys and finalizers are. */
export const qualifiedName: NameRule = (name) => {
  const parts = name.split('/');
  if (parts.length > 2) {
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName', or 'my.name', or '123-abc', regex used for validation is '${qualifiedPart}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const part = parts.at(-1) as string;
  const prefix = parts.length === 2 ? (parts[0] as string) : undefined;
  return [
    ...(prefix === ''
      ? ['prefix part must be non-empty']
      : prefix === undefined
        ? []
        : dnsSubdomain(prefix).map((message) => `prefix part ${message}`)),
    ...(part === '' ? ['name part must be non-empty'] : bytes(part) > 63 ? [`name part ${tooLong(63)}`] : []),
    ...(qualifiedPartForm.test(part)
      ? []
      : [
          `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName', or 'my.name', or '123-abc', regex used for validation is '${qualifiedPart}')`,
        ]),
  ];
};

export const labelValueRule: NameRule = (value) => [
  ...(bytes(value) > 63 ? [tooLong(63)] : []),
  ...(labelValueForm.test(value)
    ? []
    : [
        `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', or 'my_value', or '12345', regex used for validation is '${labelValue}')`,
      ]),
];
