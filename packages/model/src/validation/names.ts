import type { Problems } from '../problems.ts';

/**
 * The rules for names. Each is a function that returns the problems of a text. As in kube-apiserver, lengths are in bytes.
 */
export type NameRule = (name: string) => readonly string[];

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const wordLabel = '[a-z]([-a-z0-9]*[a-z0-9])?';
const qualifiedPart = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${qualifiedPart})?`;

const labelForm = new RegExp(`^${label}$`);
const wordLabelForm = new RegExp(`^${wordLabel}$`);
const subdomainForm = new RegExp(`^${label}(\\.${label})*$`);
const qualifiedPartForm = new RegExp(`^${qualifiedPart}$`);
const labelValueForm = new RegExp(`^${labelValue}$`);

const isLonger = (text: string, bytesMax: number): boolean =>
  text.length > bytesMax || (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax);
/** As kube-apiserver words it, which counts bytes all the same. */
const tooLong = (max: number, unit = 'characters'): string => `must be no more than ${max} ${unit}`;

/** Nearly all names are right, and each write has many of them. */
const none: readonly string[] = [];

function collectProblems(one: string | false, other: string | false = false): readonly string[] {
  if (one) return other ? [one, other] : [one];
  return other ? [other] : none;
}

export const dnsLabel: NameRule = (name) =>
  collectProblems(
    isLonger(name, 63) && tooLong(63),
    !labelForm.test(name) &&
      (matchesSubdomain(name)
        ? 'must not contain dots'
        : `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`),
  );

/** A label that begins with a letter, as versions do. */
export const dnsWordLabel: NameRule = (name) =>
  collectProblems(
    // Upstream counts bytes here, too.
    isLonger(name, 63) && 'must be no more than 63 characters',
    !wordLabelForm.test(name) &&
      `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${wordLabel}')`,
  );

export const dnsSubdomain: NameRule = (name) => subdomainProblems(name, 'characters');

const subdomainProblems = (name: string, unit: string): readonly string[] =>
  collectProblems(
    isLonger(name, 253) && tooLong(253, unit),
    !matchesSubdomain(name) &&
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${label}(\\.${label})*')`,
  );

/** By what it must not contain, because the whole expression may backtrack on a long name that fails at its end. */
const matchesSubdomain = (name: string): boolean =>
  name.length < 64 ? subdomainForm.test(name) : !noSubdomainForm.test(name);

/** Other characters, and labels that are empty, begin or end with a dash. */
const noSubdomainForm = /[^-a-z0-9.]|^[-.]|[-.]$|\.[-.]|-\./;

const partOfPathSegment: NameRule = (name) =>
  collectProblems(name.includes('/') && `may not contain '/'`, name.includes('%') && `may not contain '%'`);

/** A segment of a URL path. */
export const pathSegment: NameRule = (name) =>
  name === '.' || name === '..' ? [`may not be '${name}'`] : partOfPathSegment(name);

/** How the objects of a kind may be called. */
export interface NameRules {
  readonly whole: NameRule;
  /** For `generateName`: a prefix that random letters will follow. */
  readonly prefix: NameRule;
}

export const anyNames: NameRules = { whole: () => none, prefix: () => none };

export const pathSegmentNames: NameRules = { whole: pathSegment, prefix: partOfPathSegment };

/** A dash at the end is allowed, because generated characters follow. As in Kubernetes, so is any character before it. */
export const allowTrailingDash =
  (rule: NameRule): NameRule =>
  (prefix) =>
    rule(prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix);

const namesBy = (rule: NameRule): NameRules => ({ whole: rule, prefix: allowTrailingDash(rule) });

export const subdomainNames: NameRules = namesBy(dnsSubdomain);
export const labelNames: NameRules = namesBy(dnsLabel);

/** `name` or `prefix/name`, as label keys and finalizers are. */
export const qualifiedName: NameRule = (name) => {
  const slash = name.indexOf('/');
  if (slash !== name.lastIndexOf('/')) {
    return [
      `a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${qualifiedPart}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const part = name.slice(slash + 1);
  const ofPart = collectProblems(
    part === '' ? 'name part must be non-empty' : isLonger(part, 63) && `name part ${tooLong(63, 'bytes')}`,
    !qualifiedPartForm.test(part) &&
      `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${qualifiedPart}')`,
  );
  if (slash < 0) return ofPart;
  const ofPrefix = slash === 0 ? ['must be non-empty'] : subdomainProblems(name.slice(0, slash), 'bytes');
  return ofPrefix.length > 0 ? [...ofPrefix.map((message) => `prefix part ${message}`), ...ofPart] : ofPart;
};

export const labelValueRule: NameRule = (value) =>
  collectProblems(
    isLonger(value, 63) && tooLong(63, 'bytes'),
    !labelValueForm.test(value) &&
      `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${labelValue}')`,
  );

const pathCharacters = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathForm = new RegExp(`^${pathCharacters}$`);

/** `domain/path`, as keys of extra user attributes are. */
export function validateDomainPrefixedPath(key: string, problems: Problems): void {
  const slash = key.indexOf('/');
  const [domain, path] = [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)];
  if (domain === '' || path === '') problems.invalid(key, 'must be a domain-prefixed path (such as "acme.io/foo")');
  else {
    problems.check(dnsSubdomain, domain);
    if (!pathForm.test(path)) problems.invalid(path, `Invalid path (regex used for validation is '${pathCharacters}')`);
  }
}
