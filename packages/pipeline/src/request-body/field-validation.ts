import { badRequest, fieldErrorsMax, type TextFault } from '@cluster-apiserver/model';

/** How unknown and duplicate fields are handled. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Longer field paths are truncated: their names come from the client. */
const pathCharactersMax = 1024;

export const unknownFieldMessage = (path: string): string =>
  `unknown field ${JSON.stringify(path.length <= pathCharactersMax ? path : `${path.slice(0, pathCharactersMax)}…`)}`;

/** The faults of a text. Strict validation reports all of YAML as one error, as the clients' libraries word it. */
export function textProblems(faults: readonly TextFault[], validation: FieldValidation): readonly string[] {
  const messages = faults.map(({ message }) => message);
  const isYaml = faults.some(({ line }) => line !== undefined);
  return isYaml && validation === 'Strict' ? [`yaml: unmarshal errors:\n  ${messages.join('\n  ')}`] : messages;
}

/** Throws BadRequest, or adds warnings, as the client requested. */
export function reportFieldProblems(
  problems: readonly string[],
  validation: FieldValidation,
  warn: (text: string) => void,
  where = '',
): void {
  if (problems.length === 0 || validation === 'Ignore') return;
  const omitted = problems.length - fieldErrorsMax;
  const listed = [...problems.slice(0, fieldErrorsMax), ...(omitted > 0 ? [`and ${omitted} more`] : [])];
  if (validation === 'Strict') throw badRequest(`${where}strict decoding error: ${listed.join(', ')}`);
  for (const fault of listed) warn(fault);
}
