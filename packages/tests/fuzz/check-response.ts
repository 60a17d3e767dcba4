import { responseFault } from '../test/hostile/http1-responses.ts';
import type { Request } from '../test/hostile/requests.ts';
import { fieldOf, type Response } from './input.ts';

/** Larger bodies are not parsed: that would cost the fuzzer more than it finds. */
const readBytesMax = 64 * 1_024;

/**
 * Finds faults of any response. Of the 5xx statuses only 504 is justified, for requests that limit their own time or
 * require a future resourceVersion. etcd is healthy during fuzzing, so there is no reason for 503.
 */
export function faultOf(request: Request, response: Response): string | undefined {
  const { status, body, isWhole } = response;
  const invalid = response.fields.find(
    ([name, value]) => !/^:?[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value),
  );
  if (invalid) return `header ${JSON.stringify(invalid)}`;
  if (!Number.isInteger(status) || status < 200 || status > 599) return `status ${status}`;
  if (!isWhole) return status >= 400 ? `${status} without an end` : undefined;
  if (status === 504) return mayTimeOut(request) ? undefined : `status 504 for a request that may take its time`;
  const contentType = fieldOf(response, 'content-type');
  if (body.length > 0 && contentType === undefined) return `status ${status} with a body of no type`;
  const declared = fieldOf(response, 'content-length');
  if (declared !== undefined && request.method !== 'HEAD' && status !== 304 && Number(declared) !== body.length)
    return `content-length ${declared} of a body of ${body.length} bytes`;
  if (fieldOf(response, 'content-encoding') === undefined) {
    const wrong = responseFault(status, contentType, body);
    if (wrong !== undefined) return wrong;
    if (status < 300 && contentType?.startsWith('application/json') && body.length > 0 && body.length <= readBytesMax)
      return isJsonStream(body) ? undefined : `status ${status} with malformed JSON: ${body.toString()}`;
  } else if (status >= 500) return `status ${status}`;
  return undefined;
}

/** One JSON text, or one per line as in watches. */
const isJsonStream = (body: Buffer): boolean =>
  isJson(body.toString()) || body.toString().trim().split('\n').every(isJson);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function mayTimeOut({ target }: Request): boolean {
  const query = new URLSearchParams(target.slice(target.indexOf('?') + 1));
  return ['timeout', 'resourceVersion', 'timeoutSeconds', 'continue'].some((name) => query.has(name));
}

/** Equal for faults that differ only in names and numbers. */
export const signatureOf = (fault: string): string =>
  fault
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>')
    .replaceAll(/\d+/g, '#')
    .slice(0, 160);

/** Log lines that no client may cause. A slow etcd is the machine's fault; readiness reports it. */
export const errorLines = (log: string): string[] =>
  log
    .split('\n')
    .filter(
      (line) =>
        /^E\d{4} |[Uu]ncaught|[Uu]nhandled|^\s+at |^\w*Error: |Warning: /.test(line) && !/ check="etcd" /.test(line),
    );
