import {
  type AccessQuestion,
  addLabelRequirementErrors,
  addRequirementValuesErrors,
  field,
  type FieldError,
  FieldErrors,
  invalidValue,
  labelSelectorRequirement,
  list,
  object,
  type ObjectSchema,
  publicationOf,
  readFieldSelector,
  readLabelSelector,
  required,
  type SelectorAttributes,
  sharedPublication,
  string,
} from '@cluster-apiserver/model';

export const authorization = { group: 'authorization.k8s.io', version: 'v1' };

/** What somebody wants to do: with a resource, or at a path that is none. Exactly one of them is meant to be there. */
export interface AccessAttributes {
  resourceAttributes?: ResourceAttributes;
  nonResourceAttributes?: { path?: string; verb?: string };
}

interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: SelectorAttributes;
  labelSelector?: SelectorAttributes;
}

const fieldSelectorRequirement = object(
  {
    key: field(string, 'Field selector key that the requirement applies to.', 'always'),
    operator: field(string, 'In, NotIn, Exists or DoesNotExist.', 'always'),
    values: field(list(string, 'atomic'), 'Values for In and NotIn.'),
  },
  {
    publication: {
      ...sharedPublication('FieldSelectorRequirement', 'A requirement that a field of an object must meet.'),
      required: ['key', 'operator'],
    },
    numbers: { key: 1, operator: 2, values: 3 },
  },
);

const selectorAttributes = (kind: string, requirements: ObjectSchema, what: string): ObjectSchema =>
  object(
    {
      rawSelector: field(string, 'Selector as in a query parameter. Excludes requirements.'),
      requirements: field(list(requirements, 'atomic'), 'Parsed selector. All requirements must be met.'),
    },
    {
      publication: publicationOf({ ...authorization, kind }, `Limits the check to some objects by their ${what}.`),
      numbers: { rawSelector: 1, requirements: 2 },
    },
  );

const resourceAttributes = object(
  {
    namespace: field(string, 'Namespace; empty means all namespaces, or none for a cluster-scoped resource.'),
    verb: field(string, 'Verb, such as get, list, watch, create, update, patch or delete; * means all.'),
    group: field(string, 'The group of the resource; * means all.'),
    version: field(string, 'The version of the resource; * means all.'),
    resource: field(string, 'The resource; * means all.'),
    subresource: field(string, 'The subresource; empty means none.'),
    name: field(string, 'The name of the object; empty means all.'),
    fieldSelector: field(
      selectorAttributes('FieldSelectorAttributes', fieldSelectorRequirement, 'fields'),
      'Limits the check to objects with such fields. It can only narrow the check.',
    ),
    labelSelector: field(
      selectorAttributes('LabelSelectorAttributes', labelSelectorRequirement, 'labels'),
      'Limits the check to objects with such labels. It can only narrow the check.',
    ),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'ResourceAttributes' }, 'An action on a resource.'),
    numbers: {
      namespace: 1,
      verb: 2,
      group: 3,
      version: 4,
      resource: 5,
      subresource: 6,
      name: 7,
      fieldSelector: 8,
      labelSelector: 9,
    },
  },
);

const nonResourceAttributes = object(
  {
    path: field(string, 'The path of the URL.'),
    verb: field(string, 'The method of the request in lower case.'),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'NonResourceAttributes' }, 'An action on a non-resource URL.'),
    numbers: { path: 1, verb: 2 },
  },
);

export const accessFields = {
  resourceAttributes: field(resourceAttributes, 'Action on a resource.'),
  nonResourceAttributes: field(nonResourceAttributes, 'Action on a non-resource URL.'),
};

export const accessNumbers = { resourceAttributes: 1, nonResourceAttributes: 2 };

export function accessErrors({
  resourceAttributes: resource,
  nonResourceAttributes: path,
}: AccessAttributes): FieldError[] {
  if (resource && path)
    return [
      invalidValue('spec.nonResourceAttributes', path, 'cannot be specified in combination with resourceAttributes'),
      ...selectorErrors(resource),
    ];
  if (!resource && !path)
    return [
      invalidValue(
        'spec.resourceAttributes',
        null,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    ];
  return resource ? selectorErrors(resource) : [];
}

const selectorErrors = ({ fieldSelector, labelSelector }: ResourceAttributes): FieldError[] => [
  ...errorsOf('spec.resourceAttributes.fieldSelector', fieldSelector, addFieldRequirementErrors),
  ...errorsOf('spec.resourceAttributes.labelSelector', labelSelector, addLabelRequirementErrors),
];

function errorsOf(
  at: string,
  selector: SelectorAttributes | undefined,
  addErrors: typeof addLabelRequirementErrors,
): FieldError[] {
  if (!selector) return [];
  const { rawSelector = '', requirements = [] } = selector;
  const errors = new FieldErrors();
  if (rawSelector !== '' && requirements.length > 0)
    errors.add(() =>
      invalidValue(`${at}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'),
    );
  if (rawSelector === '' && requirements.length === 0)
    errors.add(() =>
      required(`${at}.requirements`, `when ${at} is specified, requirements or rawSelector is required`),
    );
  for (const [index, requirement] of requirements.entries())
    addErrors(errors, `${at}.requirements[${index}]`, requirement);
  return errors.all;
}

const addFieldRequirementErrors: typeof addLabelRequirementErrors = (errors, at, requirement) => {
  if (!requirement.key) errors.add(() => required(`${at}.key`, 'must be specified'));
  addRequirementValuesErrors(errors, at, requirement);
};

/** What authorization is asked, and what of the review could not be made a question. */
export function accessQuestion(
  user: AccessQuestion['user'],
  { resourceAttributes: resource, nonResourceAttributes: path }: AccessAttributes,
): { readonly question: AccessQuestion; readonly problems: readonly string[] } {
  if (!resource) return { question: { user, verb: path?.verb ?? '', path: path?.path ?? '' }, problems: [] };
  const { verb = '', group = '', version, subresource, namespace, name } = resource;
  const fields = resource.fieldSelector && readFieldSelector(resource.fieldSelector);
  const labels = resource.labelSelector && readLabelSelector(resource.labelSelector);
  const question = {
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
  return { question, problems: [...ignoredParts('fieldSelector', fields), ...ignoredParts('labelSelector', labels)] };
}

const ignoredParts = (name: string, read: ReturnType<typeof readFieldSelector> | undefined): string[] =>
  read?.isPartial
    ? [`spec.resourceAttributes.${name} ${read.selector ? 'partially ignored' : 'ignored'} due to parse error`]
    : [];
