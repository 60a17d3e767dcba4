import type { Problems } from '@cluster-apiserver/model';
import { field, labelSelector, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import {
  dnsWordLabel,
  type NameRule,
  pathSegment,
  subdomainNames,
  validateLabelSelector,
} from '@cluster-apiserver/model/validation';
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

export function validateParamKind({ apiVersion = '', kind = '' }: ParamKind, problems: Problems): void {
  if (apiVersion === '') problems.at('apiVersion').required();
  else validateVersion(apiVersion, problems.at('apiVersion'));
  const at = problems.at('kind');
  if (kind === '') return void at.required();
  const detail = joinedProblems(dnsWordLabel, kind.toLowerCase());
  if (detail !== '') at.invalid(kind, `may have mixed case, but should otherwise match: ${detail}`);
}

function validateVersion(apiVersion: string, problems: Problems): void {
  const parts = apiVersion.split('/');
  if (parts.length > 2) return void problems.invalid(apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  const [version = '', group = ''] = parts.toReversed();
  const ofGroup = group === '' ? '' : joinedProblems(subdomainNames.whole, group);
  if (ofGroup !== '') problems.invalid(group, ofGroup);
  if (version === '') return void problems.invalid(apiVersion, 'version must be specified');
  const ofVersion = joinedProblems(dnsWordLabel, version);
  if (ofVersion !== '') problems.invalid(version, ofVersion);
}

/** As one problem; empty if there is none. */
const joinedProblems = (rule: NameRule, name: string): string => rule(name).join(',');

const notFoundActions = ['Deny', 'Allow'];

export function validateParamRef(
  { name = '', selector, parameterNotFoundAction: action = '' }: ParamRef,
  problems: Problems,
): void {
  const ofName = problems.at('name');
  const ofSelector = problems.at('selector');
  const both = name !== '' && selector !== undefined;
  const exclusive = 'name and selector are mutually exclusive';
  if (name !== '') ofName.check(pathSegment, name);
  if (both) ofName.forbidden(exclusive);
  if (selector) validateLabelSelector(selector, ofSelector);
  if (both) ofSelector.forbidden(exclusive);
  if (name === '' && !selector) problems.required('one of name or selector must be specified');
  const ofAction = problems.at('parameterNotFoundAction');
  if (action === '') ofAction.required();
  else ofAction.oneOf(action, notFoundActions);
}
