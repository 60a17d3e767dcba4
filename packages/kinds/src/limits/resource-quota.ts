import { parseQuantity, type Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, publicationOf, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { amounts, core } from './amounts.ts';
import { isCounted, isQuotaName, podCompute, validateQuotaName } from './resource-names.ts';

type Amounts = ValueOf<typeof amounts>;

const requirementSchema = object(
  {
    scopeName: field(1, string, 'The scope.', 'always'),
    operator: field(2, string, 'Relation to the values: In, NotIn, Exists or DoesNotExist.', 'always'),
    values: field(3, list(string, 'atomic'), 'The values of In and NotIn.'),
  },
  {
    publication: publicationOf(
      { ...core, kind: 'ScopedResourceSelectorRequirement' },
      'A scope, and the values that it has to have.',
      ['scopeName', 'operator'],
    ),
  },
);

const selectorSchema = object(
  { matchExpressions: field(1, list(requirementSchema, 'atomic'), 'All have to match.') },
  {
    atomic: true,
    publication: publicationOf({ ...core, kind: 'ScopeSelector' }, 'Selects by scope the objects that count.'),
  },
);

const specSchema = object(
  {
    hard: field(1, amounts, 'The most of each resource, such as `count/configmaps` or `secrets`.'),
    scopes: field(
      2,
      list(string, 'atomic'),
      'Scopes of the quota: only objects in all of them count. They cannot be changed.',
    ),
    scopeSelector: field(3, selectorSchema, 'Selector of the objects that count.', 'given'),
  },
  { publication: publicationOf({ ...core, kind: 'ResourceQuotaSpec' }, 'The limits of a namespace.') },
);

const statusSchema = object(
  {
    hard: field(1, amounts, 'The limits that are enforced.'),
    used: field(2, amounts, 'Amounts in use.'),
  },
  {
    publication: publicationOf(
      { ...core, kind: 'ResourceQuotaStatus' },
      'Limits that are enforced, and amounts in use.',
    ),
  },
);

const fields = {
  spec: field(2, specSchema, 'The limits.', 'always'),
  status: field(3, statusSchema, 'Limits that are enforced, and amounts in use.', 'always'),
};

export type ResourceQuota = ObjectOf<typeof fields>;

/** How much of each resource a namespace may hold. */
export const resourceQuota = defineKind({
  ...core,
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  singular: 'resourcequota',
  shortNames: ['quota'],
  description: 'Limits how much of each resource a namespace may hold. Creates that exceed it are refused.',
  metadataChecks: 'change',
  fields,
  deletedAnswer: 'object',
  fieldSubresources: [
    {
      name: 'status',
      verbs: ['get', 'patch', 'update'],
      fields: ['status'],
      givenOnCreate: false,
      keepsMetadata: false,
    },
  ],
  validate: ({ spec, status }, current, problems) => {
    validateAmounts(spec.hard, problems.at('spec', 'hard'));
    validateScopes(spec, problems.at('spec', 'scopes'));
    validateSelector(spec, problems.at('spec', 'scopeSelector', 'matchExpressions'));
    if (current && !sameSet(spec.scopes, current.spec.scopes))
      problems.at('spec', 'scopes').invalid(spec.scopes ?? null, 'field is immutable');
    validateAmounts(status.hard, problems.at('status', 'hard'));
    validateAmounts(status.used, problems.at('status', 'used'));
  },
  warnings: ({ spec: { hard = {} } }, current) =>
    current ? [] : ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((name) => warnOfOrder(name, hard)),
  columns: [
    nameColumn,
    {
      name: 'Request',
      description: 'Used and hard amounts, without those of limits.',
      value: ({ status }) => formatUsage(status, (name) => !name.startsWith('limits.')),
    },
    {
      name: 'Limit',
      description: 'Used and hard amounts of limits.',
      value: ({ status }) => formatUsage(status, (name) => name.startsWith('limits.')),
    },
    ageColumn,
  ],
});

const formatUsage = ({ hard = {}, used = {} }: ResourceQuota['status'], isShown: (name: string) => boolean): string =>
  Object.keys(hard)
    .filter(isShown)
    .toSorted()
    .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
    .join(', ');

function validateAmounts(hard: Amounts = {}, problems: Problems): void {
  for (const [key, text] of Object.entries(hard)) {
    const at = problems.at({ key });
    validateQuotaName(key, at);
    const amount = parseQuantity(text);
    if (!amount) continue;
    if (amount.units < 0n) at.invalid(text, 'must be greater than or equal to 0');
    if (isCounted(key) && !amount.isWhole) at.invalid(text, 'must be an integer');
  }
}

const scopeResources: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...['Terminating', 'NotTerminating', 'NotBestEffort', 'PriorityClass', 'CrossNamespacePodAffinity'].map(
    (scope): [string, readonly string[]] => [scope, ['pods', ...podCompute]],
  ),
  ['BestEffort', ['pods']],
  ['VolumeAttributesClass', ['persistentvolumeclaims', 'requests.storage']],
]);

const exclusiveScopes = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

/** A scope of pods makes no sense for what has none. Names with a group are not checked. */
const misfits = (scope: string, hard: Amounts = {}): readonly string[] => {
  const fitting = scopeResources.get(scope);
  return fitting ? Object.keys(hard).filter((name) => isQuotaName(name) && !fitting.includes(name)) : [];
};

function validateScopes({ scopes, hard }: ResourceQuota['spec'], problems: Problems): void {
  if (!scopes) return;
  for (const scope of scopes) {
    if (!scopeResources.has(scope)) problems.invalid(scopes, 'unsupported scope');
    for (const _ of misfits(scope, hard)) problems.invalid(scopes, 'unsupported scope applied to resource');
  }
  validateExclusive(scopes, scopes, problems);
}

function validateExclusive(scopes: readonly string[], shown: unknown, problems: Problems): void {
  for (const pair of exclusiveScopes)
    if (pair.every((scope) => scopes.includes(scope))) problems.invalid(shown, 'conflicting scopes');
}

const existing = [...['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'CrossNamespacePodAffinity']];

function validateSelector({ scopeSelector, scopes = [], hard }: ResourceQuota['spec'], problems: Problems): void {
  if (!scopeSelector) return;
  const requirements = scopeSelector.matchExpressions ?? [];
  for (const { scopeName, operator, values = [] } of requirements) {
    if (!scopeResources.has(scopeName)) problems.at('scopeName').invalid(scopeName, 'unsupported scope');
    for (const _ of misfits(scopeName, hard)) problems.invalid(scopeSelector, 'unsupported scope applied to resource');
    if (existing.includes(scopeName) && operator !== 'Exists')
      problems
        .at('operator')
        .invalid(
          operator,
          "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        );
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        problems
          .at('values')
          .required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        problems
          .at('values')
          .invalid(values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
    } else problems.at('operator').invalid(operator, 'not a valid selector operator');
  }
  validateExclusive(
    requirements.map(({ scopeName }) => scopeName),
    scopes,
    problems,
  );
}

const sameSet = (one: readonly string[] = [], other: readonly string[] = []): boolean =>
  sameJson([...new Set(one)].toSorted(), [...new Set(other)].toSorted());

function warnOfOrder(name: string, hard: Amounts): string[] {
  const [requestName, limitName] = [requestNameOf(name, hard), `limits.${name}`];
  const [request, limit] = [hard[requestName] ?? '', hard[limitName] ?? ''];
  const [one, other] = [parseQuantity(request), parseQuantity(limit)];
  return one && other && one.compare(other) > 0
    ? [`ResourceQuota ${requestName} (${request}) should be less than ${limitName} (${limit})`]
    : [];
}

const requestNameOf = (name: string, hard: Amounts): string =>
  !(`requests.${name}` in hard) && (name === 'cpu' || name === 'memory') ? name : `requests.${name}`;

/** All scopes are about pods and volumes, so a quota with one of them counts nothing else. */
export const isScoped = ({ scopes = [], scopeSelector }: ResourceQuota['spec']): boolean =>
  scopes.length > 0 || (scopeSelector?.matchExpressions ?? []).length > 0;
