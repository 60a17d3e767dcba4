import {
  duplicate,
  type FieldErrors,
  field,
  int64,
  invalidValue,
  notSupported,
  numberOf,
  object,
  qualifiedName,
  required,
  sharedPublication,
  string,
  time,
  tooLong,
  type ValueOf,
} from '@cluster-apiserver/model';

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

export function addConditionErrors(
  errors: FieldErrors,
  at: string,
  conditions: readonly ValueOf<typeof condition>[],
): void {
  const types = new Set<string>();
  for (const [index, one] of conditions.entries()) {
    if (types.has(one.type)) errors.add(() => duplicate(`${at}[${index}].type`, one.type));
    types.add(one.type);
    addErrorsOfOne(errors, `${at}[${index}]`, one);
  }
}

function addErrorsOfOne(
  errors: FieldErrors,
  at: string,
  { type, status, observedGeneration = 0, lastTransitionTime, reason, message }: ValueOf<typeof condition>,
): void {
  errors.addAll(qualifiedName(type), (problem) => invalidValue(`${at}.type`, type, problem));
  if (!statuses.includes(status)) errors.add(() => notSupported(`${at}.status`, status, statuses));
  if (numberOf(observedGeneration) < 0)
    errors.add(() =>
      invalidValue(`${at}.observedGeneration`, observedGeneration, 'must be greater than or equal to zero'),
    );
  if (!lastTransitionTime) errors.add(() => required(`${at}.lastTransitionTime`));
  if (reason === '') errors.add(() => required(`${at}.reason`));
  else if (!reasonForm.test(reason))
    errors.add(() =>
      invalidValue(
        `${at}.reason`,
        reason,
        `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${reasonText}')`,
      ),
    );
  if (Buffer.byteLength(reason) > reasonBytesMax) errors.add(() => tooLong(`${at}.reason`, reasonBytesMax));
  if (Buffer.byteLength(message) > messageBytesMax) errors.add(() => tooLong(`${at}.message`, messageBytesMax));
}
