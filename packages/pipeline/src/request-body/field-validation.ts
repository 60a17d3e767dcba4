import { badRequest, type StatusError } from '@cluster-apiserver/model';
import type { TextFault } from '@cluster-apiserver/model/json';

/** How unknown and duplicate fields are handled. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** What strict validation rejects. */
export interface FieldProblems {
  /** Faults of the text: duplicate fields. */
  readonly faults?: readonly TextFault[];
  /** Further documents of YAML are dropped; kube-apiserver does not even reject them. */
  readonly hasMoreDocuments?: boolean | undefined;
  /** Paths of the fields that the kind does not have. */
  readonly unknown?: readonly string[];
  /** Precedes them in an error. */
  readonly where?: string;
  /** The error; BadRequest by default. */
  readonly refuse?: (message: string) => StatusError;
}

/** Longer field paths are truncated: their names come from the client. */
const pathCharactersMax = 1024;
/** Characters of the problems that are listed. A client that has more of them has seen that it is wrong. */
const listedCharactersMax = 64 * 1024;

export const strictError = 'strict decoding error: ';

/** Throws BadRequest, or adds warnings, as the client requested. */
export function reportFieldProblems(
  { faults = [], hasMoreDocuments = false, unknown = [], where = strictError, refuse = badRequest }: FieldProblems,
  validation: FieldValidation,
  warn: (text: string) => void,
): void {
  const isStrict = validation === 'Strict';
  const count = faults.length + unknown.length;
  const isCut = isStrict && hasMoreDocuments;
  if ((count === 0 && !isCut) || validation === 'Ignore') return;
  const cut = isCut ? ['only the first document of the body would be read'] : [];
  const listed = [...cut, ...listWithin(messages(faults, unknown, isStrict), count)];
  if (isStrict) throw refuse(`${where}${listed.join(', ')}`);
  for (const problem of listed) warn(problem);
}

type Message = readonly [message: string, problems: number];

/** As many messages as a client needs, and how many problems are left. */
function listWithin(all: Iterable<Message>, count: number): readonly string[] {
  const listed: string[] = [];
  let listedCount = 0;
  let left = listedCharactersMax;
  for (const [message, problems] of all) {
    if (left <= 0) break;
    left -= message.length;
    listedCount += problems;
    listed.push(message);
  }
  if (listedCount < count) listed.push(`and ${count - listedCount} more`);
  return listed;
}

/** Each message with the number of its problems. Strict validation words the faults of YAML as the clients' libraries do. */
function* messages(
  faults: readonly TextFault[],
  unknown: readonly string[],
  isStrict: boolean,
): Generator<Message, void> {
  const isYaml = faults.some(({ line }) => line !== undefined);
  if (isYaml && isStrict)
    yield [`yaml: unmarshal errors:\n  ${faults.map(({ message }) => message).join('\n  ')}`, faults.length];
  else for (const { message } of faults) yield [message, 1];
  for (const path of unknown) yield [unknownFieldMessage(path), 1];
}

export const unknownFieldMessage = (path: string): string => `unknown field ${JSON.stringify(shorten(path))}`;

function shorten(path: string): string {
  return path.length <= pathCharactersMax ? path : `${path.slice(0, pathCharactersMax)}…`;
}
