import { formatPath, type Problems } from './problems.ts';

/** An answer that is not a success. Its message is for the client, its cause for our log. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly reason: Reason;
  readonly details: StatusDetails | undefined;
  /** Seconds after which another try may help; sent as a header too. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether the error was already logged where it occurred. */
  readonly isLogged: boolean;
  /** What is wrong with the object, if that is the reason. */
  readonly problems: Problems | undefined;

  /** The token with which an expired list may go on. */
  readonly #continue: string | undefined;
  readonly #code: number | undefined;
  readonly #statedReason: string | undefined;

  constructor(reason: Reason, message: string, details?: StatusDetails, options?: StatusErrorOptions) {
    super(message, options);
    this.reason = reason;
    this.details = details;
    this.#continue = options?.continue;
    this.#code = options?.code;
    this.#statedReason = options?.statedReason;
    this.retryAfterSeconds = details?.retryAfterSeconds;
    this.isLogged = options?.isLogged ?? false;
    this.problems = options?.problems;
  }

  /** The status code of the reason, unless the options have another one. */
  get code(): number {
    return this.#code ?? codes[this.reason];
  }

  toStatus(): Status {
    const reason = this.#statedReason ?? this.reason;
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.#continue === undefined ? {} : { continue: this.#continue },
      status: 'Failure',
      message: this.message,
      ...(reason !== '' && { reason }),
      ...(this.details && { details: this.details }),
      code: this.code,
    };
  }
}

interface StatusErrorOptions extends ErrorOptions {
  readonly continue?: string;
  readonly code?: number;
  /** The reason that clients get instead, such as one that a webhook chose; empty for none. */
  readonly statedReason?: string;
  readonly isLogged?: boolean;
  readonly problems?: Problems;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface StatusCause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

const codes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  RequestTimeout: 408,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  StorageReadError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type Reason = keyof typeof codes;

export const success = (details: StatusDetails, rest: Pick<Partial<Status>, 'message' | 'metadata'> = {}): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: rest.metadata ?? {},
  status: 'Success',
  ...(rest.message !== undefined && { message: rest.message }),
  details,
});

export const badRequest = (message: string, cause?: unknown): StatusError =>
  new StatusError('BadRequest', message, undefined, { cause });

/** The names of a resource in answers: by its plural where one object is meant, by its kind where its form is. */
export interface ResourceNames {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
}

const resourceDetails = ({ group, plural }: ResourceNames, name: string): StatusDetails => ({
  name,
  ...(group && { group }),
  kind: plural,
});
const withGroup = ({ group }: ResourceNames, word: string): string => (group ? `${word}.${group}` : word);

export const notFound = (names: ResourceNames, name: string, cause?: unknown): StatusError =>
  new StatusError('NotFound', `${withGroup(names, names.plural)} "${name}" not found`, resourceDetails(names, name), {
    cause,
  });

/** The verb is one of Kubernetes, such as `update`. */
export const methodNotSupported = (names: ResourceNames, verb: string): StatusError => {
  const { name: _, ...details } = resourceDetails(names, '');
  return new StatusError(
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind "${withGroup(names, names.plural)}"`,
    details,
  );
};

export const alreadyExists = (names: ResourceNames, name: string, prefix = '', cause?: unknown): StatusError =>
  new StatusError(
    'AlreadyExists',
    `${prefix}${withGroup(names, names.plural)} "${name}" already exists`,
    resourceDetails(names, name),
    { cause },
  );

export const conflict = (names: ResourceNames, name: string, problem: string): StatusError =>
  new StatusError(
    'Conflict',
    `Operation cannot be fulfilled on ${withGroup(names, names.plural)} "${name}": ${problem}`,
    resourceDetails(names, name),
  );

/** The requester is authorized, but the object or its namespace does not allow the request. */
export function forbiddenResource(
  names: ResourceNames,
  name: string | undefined,
  problem: string,
  causes?: readonly StatusCause[],
): StatusError {
  const what = `${withGroup(names, names.plural)}${name ? ` ${JSON.stringify(name)}` : ''}`;
  const { name: _, ...details } = resourceDetails(names, '');
  return new StatusError('Forbidden', `${what} is forbidden: ${problem}`, {
    ...(name && { name }),
    ...details,
    ...(causes && { causes }),
  });
}

/** What an answer about an invalid object names: its kind, or the form of the options of a request. */
interface Form {
  readonly group: string;
  readonly kind: string;
}

/** Throws a StatusError with all problems of an object if there are any. */
export function requireValid(form: Form, name: string, problems: Problems): void {
  if (problems.count > 0) throw invalid(form, name, problems);
}

/** Several things wrong with an object, or with the options of a request, each with its field. */
export function invalid(form: Form, name: string, problems: Problems): StatusError {
  const listed = problems.errors.map(({ path, reason, message }) => ({ reason, message, field: formatPath(path) }));
  const omitted = problems.count - listed.length;
  const more = omitted > 0 ? [`and ${omitted} more`] : [];
  // As in kube-apiserver, an error that is found twice has two causes and one sentence.
  const found = new Set(listed.map(({ field, message }) => `${field}: ${message}`));
  const sentences = [...fitIntoMessage([...found]), ...more];
  const all = sentences.length === 1 ? sentences[0] : `[${sentences.join(', ')}]`;
  const shownName = name.length <= nameCharactersMax ? name : `${name.slice(0, nameCharactersMax)}…`;
  return new StatusError(
    'Invalid',
    `${form.group ? `${form.kind}.${form.group}` : form.kind} "${shownName}" is invalid: ${all}`,
    {
      ...(name && { name: shownName }),
      ...(form.group && { group: form.group }),
      ...(form.kind && { kind: form.kind }),
      causes: [
        ...listed,
        ...more.map((message) => ({ reason: 'FieldValueInvalid', message: `${message} errors`, field: '' })),
      ],
    },
    { problems },
  );
}

/** The longest name that any rule allows has 253 characters. */
const nameCharactersMax = 512;
/** The message repeats the causes; those that do not fit into it are only in the causes. */
const messageCharactersMax = 16 * 1024;

function fitIntoMessage(sentences: readonly string[]): string[] {
  let left = messageCharactersMax;
  const [first = '', ...others] = sentences;
  return [first, ...others.filter(({ length }) => (left -= length) >= 0)];
}
