import type { Problems } from '@cluster-apiserver/model';
import { numberOf } from '@cluster-apiserver/model/json';
import { field, int64, object, sharedPublication, string, time, type ValueOf } from '@cluster-apiserver/model/schema';
import { qualifiedName } from '@cluster-apiserver/model/validation';

/** `Condition` of `meta.k8s.io`, which newer kinds share. Namespaces have an older form without rules. */
export const condition = object(
  {
    type: field(1, string, 'Type of the condition.', 'always'),
    status: field(2, string, 'True, False or Unknown.', 'always'),
    observedGeneration: field(3, int64, 'Generation of the object that the condition refers to.'),
    lastTransitionTime: field(4, time, 'Time at which the status last changed.', 'always'),
    reason: field(5, string, 'Machine-readable reason of the status, in CamelCase.', 'always'),
    message: field(6, string, 'Human-readable message about the status.', 'always'),
  },
  {
    publication: {
      ...sharedPublication('Condition', 'One aspect of the current state of an object.'),
      required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
    },
  },
);

const statuses: readonly string[] = ['False', 'True', 'Unknown'];
const reasonBytesMax = 1024;
const messageBytesMax = 32 * 1024;
const reasonText = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reasonForm = new RegExp(`^${reasonText}$`);

type Condition = ValueOf<typeof condition>;

export function validateConditions(conditions: readonly Condition[], problems: Problems): void {
  const types = new Set<string>();
  problems.each(conditions, (one, at) => {
    if (types.has(one.type)) at.at('type').duplicate(one.type);
    types.add(one.type);
    validateCondition(one, at);
  });
}

function validateCondition(
  { type, status, observedGeneration = 0, lastTransitionTime, reason, message }: Condition,
  problems: Problems,
): void {
  problems.at('type').check(qualifiedName, type);
  problems.at('status').oneOf(status, statuses);
  if (numberOf(observedGeneration) < 0)
    problems.at('observedGeneration').invalid(observedGeneration, 'must be greater than or equal to zero');
  if (!lastTransitionTime) problems.at('lastTransitionTime').required();
  const at = problems.at('reason');
  if (reason === '') at.required();
  else if (!reasonForm.test(reason))
    at.invalid(
      reason,
      `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${reasonText}')`,
    );
  if (Buffer.byteLength(reason) > reasonBytesMax) at.tooLong(reasonBytesMax);
  if (Buffer.byteLength(message) > messageBytesMax) problems.at('message').tooLong(messageBytesMax);
}
