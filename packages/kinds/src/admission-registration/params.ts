import {
  dnsWordLabel,
  type FieldError,
  field,
  forbidden,
  invalidValue,
  labelSelector,
  labelSelectorErrors,
  notSupported,
  object,
  pathSegment,
  required,
  string,
  subdomainNames,
  type ValueOf,
} from '@cluster-apiserver/model';
import { publicationOfPart } from './admission-registration.ts';

export const paramKindSchema = object(
  {
    apiVersion: field(1, string, 'API group and version, such as rules.example.com/v1.'),
    kind: field(2, string, 'Kind of the parameters.'),
  },
  {
    atomic: true,
    publication: publicationOfPart('ParamKind', 'The kind of the objects that hold the parameters of a policy.'),
  },
);

/** The kind of the objects that a policy takes its parameters from. */
export type ParamKind = ValueOf<typeof paramKindSchema>;

export const paramRefSchema = object(
  {
    name: field(1, string, 'Name of the object. Either this or selector is set.'),
    namespace: field(
      2,
      string,
      'Namespace of the object. If empty, that of the request. Must be empty for a cluster-scoped kind.',
    ),
    selector: field(
      3,
      labelSelector,
      'Selects objects by their labels; the policy is evaluated with each of them. Either this or name is set.',
    ),
    parameterNotFoundAction: field(
      4,
      string,
      'Behavior if no such object exists. Allow: the binding does not apply. Deny: failurePolicy applies.',
      'given',
    ),
  },
  {
    atomic: true,
    publication: publicationOfPart('ParamRef', 'Names the objects that hold the parameters of a policy.'),
  },
);

/** Which objects of that kind a binding takes. */
export type ParamRef = ValueOf<typeof paramRefSchema>;

export function paramKindErrors(at: string, { apiVersion = '', kind = '' }: ParamKind): FieldError[] {
  return [
    ...(apiVersion === '' ? [required(`${at}.apiVersion`)] : versionErrors(`${at}.apiVersion`, apiVersion)),
    ...(kind === ''
      ? [required(`${at}.kind`)]
      : joinProblems(dnsWordLabel(kind.toLowerCase())).map((problem) =>
          invalidValue(`${at}.kind`, kind, `may have mixed case, but should otherwise match: ${problem}`),
        )),
  ];
}

function versionErrors(at: string, apiVersion: string): FieldError[] {
  const parts = apiVersion.split('/');
  if (parts.length > 2) return [invalidValue(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const [version = '', group = ''] = parts.toReversed();
  return [
    ...(group === ''
      ? []
      : joinProblems(subdomainNames.whole(group)).map((problem) => invalidValue(at, group, problem))),
    ...(version === ''
      ? [invalidValue(at, apiVersion, 'version must be specified')]
      : joinProblems(dnsWordLabel(version)).map((problem) => invalidValue(at, version, problem))),
  ];
}

/** As one problem, if there is any. */
const joinProblems = (problems: readonly string[]): string[] => (problems.length > 0 ? [problems.join(',')] : []);

const notFoundActions = ['Deny', 'Allow'];

export function paramRefErrors(
  at: string,
  { name = '', selector, parameterNotFoundAction = '' }: ParamRef,
): FieldError[] {
  const both = name !== '' && selector !== undefined;
  const exclusive = 'name and selector are mutually exclusive';
  return [
    ...(name === '' ? [] : pathSegment(name).map((problem) => invalidValue(`${at}.name`, name, problem))),
    ...(both ? [forbidden(`${at}.name`, exclusive)] : []),
    ...(selector ? labelSelectorErrors(`${at}.selector`, selector) : []),
    ...(both ? [forbidden(`${at}.selector`, exclusive)] : []),
    ...(name === '' && !selector ? [required(at, 'one of name or selector must be specified')] : []),
    ...(parameterNotFoundAction === ''
      ? [required(`${at}.parameterNotFoundAction`)]
      : notFoundActions.includes(parameterNotFoundAction)
        ? []
        : [notSupported(`${at}.parameterNotFoundAction`, parameterNotFoundAction, notFoundActions)]),
  ];
}
