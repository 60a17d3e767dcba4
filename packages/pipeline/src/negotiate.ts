import { StatusError } from '@cluster-apiserver/model';
import type { ApiRequest } from './exchange.ts';

/** How an answer is written. */
export type Form = 'json' | 'prettyJson' | 'yaml';

const offered = ['application/json', 'application/yaml'] as const;

/** The form that the client asks for: by its Accept header, and by `pretty` or who it is. Throws NotAcceptable. */
export function negotiated(request: ApiRequest, query: URLSearchParams | undefined): Form {
  const accept = request.header('accept');
  const type =
    accept === undefined || accept === '*/*' || accept === 'application/json'
      ? 'application/json'
      : acceptedType(accept);
  if (type === undefined)
    throw new StatusError('NotAcceptable', `only the following media types are accepted: ${offered.join(', ')}`, {});
  if (type === 'application/yaml') return 'yaml';
  return isPretty(request, query) ? 'prettyJson' : 'json';
}

/** The form for an error: the one asked for if there is one, and JSON otherwise. */
export function errorForm(request: ApiRequest, query: URLSearchParams | undefined): Form {
  try {
    return negotiated(request, query);
  } catch {
    return 'prettyJson';
  }
}

function isPretty(request: ApiRequest, query: URLSearchParams | undefined): boolean {
  const asked = query?.get('pretty');
  if (asked !== null && asked !== undefined) return asked === 'true' || asked === '1';
  const agent = request.header('user-agent') ?? '';
  return agent.startsWith('curl/') || agent.startsWith('Wget/') || agent.startsWith('Mozilla/');
}

/** A header longer than this names more types than exist; the rest of it is not read. */
const clausesMax = 32;

function acceptedType(accept: string): (typeof offered)[number] | undefined {
  const clauses = accept
    .split(',', clausesMax)
    .map(parsedClause)
    .filter(({ quality }) => quality > 0)
    .sort((left, right) => right.quality - left.quality);
  for (const { type, parameters } of clauses) {
    // Tables and partial objects are other forms of the answer: whoever asks for one of those does not mean this one.
    if (parameters.some((parameter) => parameter.startsWith('as='))) continue;
    const found = type === '*/*' || type === 'application/*' ? offered[0] : offered.find((one) => one === type);
    if (found) return found;
  }
  return undefined;
}

function parsedClause(clause: string): { type: string; parameters: string[]; quality: number } {
  const [type = '', ...parameters] = clause.split(';').map((part) => part.trim().toLowerCase());
  const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
  return { type, parameters, quality: Number.isFinite(quality) ? quality : 0 };
}
