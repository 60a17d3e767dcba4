import { parseQuantity, type Problems } from '@cluster-apiserver/model';
import { defineKind, type KubeObject, undeclaredColumns } from '@cluster-apiserver/model/kind';
import { field, list, object, publicationOf, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { qualifiedName } from '@cluster-apiserver/model/validation';
import { amounts, core } from './amounts.ts';
import { mayBeOvercommitted, validateLimitedName } from './resource-names.ts';

const limitSchema = object(
  {
    type: field(
      1,
      string,
      'Type of the limited object: Container, Pod, PersistentVolumeClaim, or a name with a domain.',
      'always',
    ),
    max: field(2, amounts, 'The largest amounts.'),
    min: field(3, amounts, 'The smallest amounts.'),
    default: field(4, amounts, 'Limits of objects that specify none.'),
    defaultRequest: field(5, amounts, 'Requests of objects that specify none.'),
    maxLimitRequestRatio: field(6, amounts, 'Maximum ratio of a limit to its request.'),
  },
  {
    publication: publicationOf(
      { ...core, kind: 'LimitRangeItem' },
      'Smallest, largest and usual amounts of one type.',
      ['type'],
    ),
  },
);

type Limit = ValueOf<typeof limitSchema>;

const fields = {
  spec: field(
    2,
    object(
      { limits: field(1, list(limitSchema, 'atomic'), 'A limit for each type.', 'nullIfEmpty') },
      { publication: publicationOf({ ...core, kind: 'LimitRangeSpec' }, 'The limits of a namespace.', ['limits']) },
    ),
    'The limits.',
    'always',
  ),
};

/** How much each pod or claim of a namespace may ask for. It is kept for those who enforce it. */
export const limitRange = defineKind({
  ...core,
  kind: 'LimitRange',
  plural: 'limitranges',
  singular: 'limitrange',
  shortNames: ['limits'],
  description:
    'Says how much each pod, container or claim of a namespace may ask for. This server does not enforce it.',
  metadataChecks: 'object',
  fields,
  createOnUpdate: true,
  defaults: (written) =>
    written.spec.limits?.some(({ type }) => type === 'Container')
      ? { ...written, spec: { limits: written.spec.limits.map(withDefaults) } }
      : written,
  prepare: withName,
  validate: ({ spec }, _, problems) => {
    const types = new Set<string>();
    problems.at('spec', 'limits').each(spec.limits ?? [], (limit, at) => {
      validateType(limit.type, at.at('type'));
      if (types.has(limit.type)) at.at('type').duplicate(limit.type);
      types.add(limit.type);
      validateLimit(limit, at);
    });
  },
  columns: undeclaredColumns,
});

/** One without a name is named by its UID. */
function withName<T extends KubeObject>(written: T): T {
  const { name, generateName, uid } = written.metadata;
  return name || generateName || !uid ? written : { ...written, metadata: { ...written.metadata, name: uid } };
}

/** A container without a limit gets the largest one, and without a request its limit, or the smallest amount. */
function withDefaults(limit: Limit): Limit {
  if (limit.type !== 'Container') return limit;
  const usual = { ...limit.max, ...limit.default };
  return { ...limit, default: usual, defaultRequest: { ...limit.min, ...usual, ...limit.defaultRequest } };
}

const types: readonly string[] = ['Pod', 'Container', 'PersistentVolumeClaim'];

function validateType(type: string, problems: Problems): void {
  if (qualifiedName(type).length > 0) problems.check(qualifiedName, type);
  else if (!type.includes('/') && !types.includes(type))
    problems.invalid(type, 'must be a standard limit type or fully qualified');
}

function validateLimit(limit: Limit, problems: Problems): void {
  const isContainer = limit.type === 'Pod' || limit.type === 'Container';
  for (const name of ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const) {
    if (limit.type === 'Pod' && (name === 'default' || name === 'defaultRequest')) {
      if (limit[name]) problems.at(name).forbidden("may not be specified when `type` is 'Pod'");
      continue;
    }
    for (const key in limit[name]) validateLimitedName(key, isContainer, problems.at(name, { key }));
  }
  const ofStorage = [limit.min, limit.max].some((amount) => amount?.['storage'] !== undefined);
  if (limit.type === 'PersistentVolumeClaim' && !ofStorage)
    problems.at('limits').required('either minimum or maximum storage value is required, but neither was provided');
  const compared = limit.type === 'Pod' ? { ...limit, default: {}, defaultRequest: {} } : limit;
  const keys = new Set(
    [compared.max, compared.min, compared.default, compared.defaultRequest, compared.maxLimitRequestRatio].flatMap(
      (some) => Object.keys(some ?? {}),
    ),
  );
  for (const key of keys) validateAmounts(key, compared, problems);
}

/** Each amount that must not be greater than another, the amount that the error names, and its words. */
const order = [
  ['min', 'max', 'min', 'min value', 'max value'],
  ['min', 'defaultRequest', 'defaultRequest', 'min value', 'default request value'],
  ['defaultRequest', 'max', 'defaultRequest', 'default request value', 'max value'],
  ['defaultRequest', 'default', 'defaultRequest', 'default request value', 'default limit value'],
  ['min', 'default', 'default', 'min value', 'default value'],
  ['default', 'max', 'default', 'default value', 'max value'],
] as const;

/** The amounts of one resource. */
function validateAmounts(key: string, limit: Limit, problems: Problems): void {
  for (const [lower, higher, name, lowerWords, higherWords] of order) {
    const [low, high] = [limit[lower]?.[key], limit[higher]?.[key]];
    if (low === undefined || high === undefined || amount(low) <= amount(high)) continue;
    // Upstream names the field of the default, and shows the amount that it is compared with.
    const shown = name === 'default' ? (lower === 'min' ? low : high) : (limit[name]?.[key] ?? '');
    problems.at(name, { key }).invalid(shown, `${lowerWords} ${low} is greater than ${higherWords} ${high}`);
  }
  validateRatio(key, limit, problems.at('maxLimitRequestRatio', { key }));
  const [usual, request] = [limit.default?.[key], limit.defaultRequest?.[key]];
  if (usual !== undefined && request !== undefined && usual !== request && !mayBeOvercommitted(key))
    problems
      .at('defaultRequest', { key })
      .invalid(request, `default value ${usual} must equal to defaultRequest value ${request} in ${key}`);
}

function validateRatio(key: string, limit: Limit, problems: Problems): void {
  const [ratio, min, max] = [limit.maxLimitRequestRatio?.[key], limit.min?.[key], limit.max?.[key]];
  if (ratio === undefined) return;
  if (amount(ratio) < 1) problems.invalid(ratio, `ratio ${ratio} is less than 1`);
  if (min === undefined || max === undefined) return;
  const most = amount(max) / amount(min);
  if (amount(ratio) > most) problems.invalid(ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`);
}

const amount = (text: string): number => parseQuantity(text)?.toDouble() ?? 0;
