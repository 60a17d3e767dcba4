import type { Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field } from '@cluster-apiserver/model/schema';
import { countingChangesOf } from '../counting-changes.ts';
import { mandatoryPriorityLevels } from './default-objects.ts';
import { flowControl, inGoNames, statusSchemaOf, statusSubresource, validateStatus } from './flow-control.ts';
import { type LimitedLevel, type PriorityLevelSpec, priorityLevelSpec, type Queuing } from './priority-level-spec.ts';

const fields = {
  spec: field(2, priorityLevelSpec, 'Limit of concurrent requests.', 'always'),
  status: field(3, statusSchemaOf('PriorityLevelConfiguration'), 'The current state.', 'always'),
};

export type PriorityLevelConfiguration = ObjectOf<typeof fields>;

/** Name of the one level whose requests are never limited. */
const exemptLevel = 'exempt';

const none = '<none>';

/** Limits how many requests of a priority level run at a time. */
export const priorityLevelConfiguration = defineKind({
  ...flowControl,
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  singular: 'prioritylevelconfiguration',
  namespaced: false,
  description: 'Limits the concurrent requests of a priority level, and queues others.',
  metadataChecks: 'object',
  fields,
  fieldSubresources: [statusSubresource],
  prepare: countingChangesOf('spec'),
  defaults: (level) => ({ ...level, spec: withDefaults(level.spec) }),
  validate: ({ metadata, spec, status }, _, problems, { subresource }) => {
    if (subresource !== 'status') {
      if (metadata.annotations?.[formerAnnotation] !== undefined)
        problems.at('metadata', 'annotations').forbidden(`annotation '${formerAnnotation}' is forbidden`);
      validateSpec(metadata.name ?? '', spec, problems.at('spec'));
    }
    validateStatus(status, problems.at('status'));
  },
  columns: [
    nameColumn,
    { name: 'Type', description: 'Limited or Exempt.', value: ({ spec }) => spec.type },
    {
      name: 'NominalConcurrencyShares',
      description: 'Share of the seats of the server.',
      value: ({ spec }) => spec.limited?.nominalConcurrencyShares ?? none,
    },
    {
      name: 'Queues',
      description: 'Number of queues.',
      value: ({ spec }) => spec.limited?.limitResponse.queuing?.queues ?? none,
    },
    {
      name: 'HandSize',
      description: 'Number of queues that a flow may use.',
      value: ({ spec }) => spec.limited?.limitResponse.queuing?.handSize ?? none,
    },
    {
      name: 'QueueLengthLimit',
      description: 'Maximum number of requests that wait in a queue.',
      value: ({ spec }) => spec.limited?.limitResponse.queuing?.queueLengthLimit ?? none,
    },
    ageColumn,
  ],
});

/** Meaningful in a beta version alone. */
const formerAnnotation = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';

const defaultShares = 30;
const defaultQueuing = { queues: 64, handSize: 8, queueLengthLimit: 50 };

function withDefaults({ limited, exempt, ...spec }: PriorityLevelSpec): PriorityLevelSpec {
  return {
    ...spec,
    ...(limited && { limited: withLimitedDefaults(limited) }),
    ...(exempt && { exempt: { nominalConcurrencyShares: 0, lendablePercent: 0, ...exempt } }),
  };
}

function withLimitedDefaults({ limitResponse, ...limited }: LimitedLevel): LimitedLevel {
  const { queuing, ...response } = limitResponse;
  return {
    nominalConcurrencyShares: defaultShares,
    lendablePercent: 0,
    ...limited,
    limitResponse: { ...response, ...(queuing && { queuing: withQueuingDefaults(queuing) }) },
  };
}

const withQueuingDefaults = ({ queues, handSize, queueLengthLimit }: Queuing): Queuing => ({
  queues: queues || defaultQueuing.queues,
  handSize: handSize || defaultQueuing.handSize,
  queueLengthLimit: queueLengthLimit || defaultQueuing.queueLengthLimit,
});

/** Every field, for error messages. */
const shownFields = {
  type: '',
  limited: {
    nominalConcurrencyShares: 0,
    limitResponse: { type: '', queuing: { queues: 0, handSize: 0, queueLengthLimit: 0 } },
    lendablePercent: null,
    borrowingLimitPercent: null,
  },
  exempt: { nominalConcurrencyShares: null, lendablePercent: null },
};

function validateSpec(name: string, spec: PriorityLevelSpec, problems: Problems): void {
  const { type, limited, exempt } = spec;
  const atType = problems.at('type');
  if ((name === exemptLevel) !== (type === 'Exempt'))
    atType.invalid(type, "must be 'Exempt' if and only if `name` is 'exempt'");
  if (type === 'Exempt') {
    if (limited) problems.at('limited').forbidden('must be nil if the type is not Limited');
    if (exempt) {
      requireCount(exempt.nominalConcurrencyShares, problems.at('exempt', 'nominalConcurrencyShares'));
      requirePercent(exempt.lendablePercent, problems.at('exempt', 'lendablePercent'));
    }
  } else if (type === 'Limited') {
    if (exempt) problems.at('exempt').forbidden('must be nil if the type is Limited');
    if (limited) validateLimited(limited, problems.at('limited'));
    else problems.at('limited').required('must not be empty when type is Limited');
  } else atType.notSupported(type, ['Exempt', 'Limited']);
  validateMandatory(name, spec, problems);
}

function validateMandatory(name: string, spec: PriorityLevelSpec, problems: Problems): void {
  const fixed = mandatoryPriorityLevels[name];
  if (!fixed) return;
  const { exempt: _, ...others } = spec;
  const { exempt: __, ...fixedOthers } = fixed;
  if (name === exemptLevel ? sameJson(others, fixedOthers) : sameJson(spec, fixed)) return;
  const but = name === exemptLevel ? " except the 'spec.exempt' field" : '';
  problems.invalid(inGoNames(spec, shownFields), `spec of '${name}'${but} must equal the fixed value`);
}

const notNegative = 'must be a non-negative integer';

function requireCount(count: number | undefined, problems: Problems, detail = notNegative): void {
  if (count !== undefined && count < 0) problems.invalid(count, detail);
}

function requirePercent(percent: number | undefined, problems: Problems): void {
  if (percent !== undefined && (percent < 0 || percent > 100))
    problems.invalid(percent, 'must be between 0 and 100, inclusive');
}

function validateLimited(
  { nominalConcurrencyShares, limitResponse, lendablePercent, borrowingLimitPercent }: LimitedLevel,
  problems: Problems,
): void {
  requireCount(nominalConcurrencyShares, problems.at('nominalConcurrencyShares'));
  const { type, queuing } = limitResponse;
  const at = problems.at('limitResponse');
  if (type === 'Reject') {
    if (queuing) at.at('queuing').forbidden('must be nil if limited.limitResponse.type is not Limited');
  } else if (type === 'Queue') {
    if (queuing) validateQueuing(queuing, at.at('queuing'));
    else at.at('queuing').required('must not be empty if limited.limitResponse.type is Limited');
  } else at.at('type').notSupported(type, ['Queue', 'Reject']);
  requirePercent(lendablePercent, problems.at('lendablePercent'));
  requireCount(borrowingLimitPercent, problems.at('borrowingLimitPercent'), `if specified, ${notNegative}`);
}

const queuesMax = 10_000_000;
/** A hand of queues is dealt by a hash with so many bits. */
const hashBits = 60;

function validateQueuing({ queues, handSize, queueLengthLimit }: Queuing, problems: Problems): void {
  if (queueLengthLimit <= 0) problems.at('queueLengthLimit').invalid(queueLengthLimit, 'must be positive');
  if (queues <= 0) problems.at('queues').invalid(queues, 'must be positive');
  else if (queues > queuesMax) problems.at('queues').invalid(queues, `must not be greater than ${queuesMax}`);
  const at = problems.at('handSize');
  if (handSize <= 0) at.invalid(handSize, 'must be positive');
  else if (handSize > queues) at.invalid(handSize, `should not be greater than queues (${queues})`);
  else if (Math.ceil(Math.log2(queues) * handSize) > hashBits)
    at.invalid(
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${hashBits}`,
    );
}
