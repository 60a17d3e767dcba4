import { type AccessAttributes, formatPath, type Problems } from '@cluster-apiserver/model';
import {
  field,
  labelSelectorRequirement,
  list,
  object,
  type ObjectSchema,
  publicationOf,
  sharedPublication,
  string,
  type FieldValues,
} from '@cluster-apiserver/model/schema';
import { readFieldSelector, readLabelSelector, type SelectorAttributes } from '@cluster-apiserver/model/selector';
import { validateLabelRequirement, validateRequirementValues } from '@cluster-apiserver/model/validation';

export const authorization = { group: 'authorization.k8s.io', version: 'v1' };

const fieldSelectorRequirement = object(
  {
    key: field(1, string, 'Field selector key that the requirement applies to.', 'always'),
    operator: field(2, string, 'In, NotIn, Exists or DoesNotExist.', 'always'),
    values: field(3, list(string, 'atomic'), 'Values for In and NotIn.'),
  },
  {
    publication: {
      ...sharedPublication('FieldSelectorRequirement', 'A requirement that a field of an object must meet.'),
      required: ['key', 'operator'],
    },
  },
);

const selectorAttributes = <Requirement>(kind: string, requirements: ObjectSchema<Requirement>, what: string) =>
  object(
    {
      rawSelector: field(1, string, 'Selector as in a query parameter. Excludes requirements.'),
      requirements: field(2, list(requirements, 'atomic'), 'Parsed selector. All requirements must be met.'),
    },
    {
      publication: publicationOf({ ...authorization, kind }, `Limits the check to some objects by their ${what}.`),
    },
  );

const resourceAttributes = object(
  {
    namespace: field(1, string, 'Namespace; empty means all namespaces, or none for a cluster-scoped resource.'),
    verb: field(2, string, 'Verb, such as get, list, watch, create, update, patch or delete; * means all.'),
    group: field(3, string, 'The group of the resource; * means all.'),
    version: field(4, string, 'The version of the resource; * means all.'),
    resource: field(5, string, 'The resource; * means all.'),
    subresource: field(6, string, 'The subresource; empty means none.'),
    name: field(7, string, 'The name of the object; empty means all.'),
    fieldSelector: field(
      8,
      selectorAttributes('FieldSelectorAttributes', fieldSelectorRequirement, 'fields'),
      'Limits the check to objects with such fields. It can only narrow the check.',
    ),
    labelSelector: field(
      9,
      selectorAttributes('LabelSelectorAttributes', labelSelectorRequirement, 'labels'),
      'Limits the check to objects with such labels. It can only narrow the check.',
    ),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'ResourceAttributes' }, 'An action on a resource.'),
  },
);

const nonResourceAttributes = object(
  {
    path: field(1, string, 'The path of the URL.'),
    verb: field(2, string, 'The method of the request in lower case.'),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'NonResourceAttributes' }, 'An action on a non-resource URL.'),
  },
);

export const accessFields = {
  resourceAttributes: field(1, resourceAttributes, 'Action on a resource.'),
  nonResourceAttributes: field(2, nonResourceAttributes, 'Action on a non-resource URL.'),
};

/** The action to check: on a resource or on a non-resource URL. Exactly one of them must be set. */
export type ReviewedAccess = FieldValues<typeof accessFields>;

/** Validates the spec of a review. */
export function validateAccess(
  { resourceAttributes: resource, nonResourceAttributes: path }: ReviewedAccess,
  problems: Problems,
): void {
  const at = problems.at('resourceAttributes');
  if (resource && path)
    problems.at('nonResourceAttributes').invalid(path, 'cannot be specified in combination with resourceAttributes');
  else if (!resource && !path)
    at.invalid(null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified');
  if (!resource) return;
  const { fieldSelector, labelSelector } = resource;
  if (fieldSelector) validateSelector(fieldSelector, at.at('fieldSelector'), validateFieldRequirement);
  if (labelSelector) validateSelector(labelSelector, at.at('labelSelector'), validateLabelRequirement);
}

function validateSelector(
  { rawSelector = '', requirements = [] }: SelectorAttributes,
  problems: Problems,
  validate: typeof validateLabelRequirement,
): void {
  if (rawSelector !== '' && requirements.length > 0)
    problems.at('rawSelector').invalid(rawSelector, 'may not specified at the same time as requirements');
  const at = problems.at('requirements');
  if (rawSelector === '' && requirements.length === 0)
    at.required(`when ${formatPath(problems.path)} is specified, requirements or rawSelector is required`);
  at.each(requirements, validate);
}

const validateFieldRequirement: typeof validateLabelRequirement = (requirement, problems) => {
  if (!requirement.key) problems.at('key').required('must be specified');
  validateRequirementValues(requirement, problems);
};

/** The attributes for authorization, and the problems of the review that could not be converted. */
export function toAccessAttributes(
  user: AccessAttributes['user'],
  { resourceAttributes: resource, nonResourceAttributes: path }: ReviewedAccess,
): { readonly attributes: AccessAttributes; readonly problems: readonly string[] } {
  if (!resource) return { attributes: { user, verb: path?.verb ?? '', path: path?.path ?? '' }, problems: [] };
  const { verb = '', group = '', version, subresource, namespace, name } = resource;
  const fields = resource.fieldSelector && readFieldSelector(resource.fieldSelector);
  const labels = resource.labelSelector && readLabelSelector(resource.labelSelector);
  const attributes = {
    user,
    verb,
    path: '',
    resource: {
      group,
      version: version || '*',
      resource: resource.resource ?? '',
      subresource: subresource || undefined,
      namespace: namespace || undefined,
      name: name || undefined,
      ...(fields?.selector && { fieldSelector: fields.selector }),
      ...(labels?.selector && { labelSelector: labels.selector }),
    },
  };
  return { attributes, problems: [...ignoredParts('fieldSelector', fields), ...ignoredParts('labelSelector', labels)] };
}

const ignoredParts = (name: string, read: ReturnType<typeof readFieldSelector> | undefined): string[] =>
  read?.isPartial
    ? [`spec.resourceAttributes.${name} ${read.selector ? 'partially ignored' : 'ignored'} due to parse error`]
    : [];
