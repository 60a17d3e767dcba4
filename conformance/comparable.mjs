// Makes responses of different runs comparable: values that differ from run to run become marks, such as <uid:1>.
import { nameAt, removeAt, valueAt } from './pointers.mjs';

const uid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const version = /^[1-9]\d*$/;
const seconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const generatedSuffix = /^[a-z0-9]{5,10}$/;

/** The marks of one case: a value has the same mark in all of its responses. */
export class Marks {
  #uids = new Map();
  #versions = new Map();
  /** Which marks of the expected and of the actual responses stand for each other. */
  #expectedOf = new Map();
  #actualOf = new Map();
  #namespaces;
  #suffix;

  constructor(namespaces, suffix) {
    this.#namespaces = namespaces;
    this.#suffix = suffix;
  }

  /** Whether two scalars are equal; a mark equals one that it always stood for. */
  areEqual(expected, actual) {
    const label = /^<(uid|rv):\d+>$/.exec(expected)?.[1];
    if (!label || !String(actual).startsWith(`<${label}:`)) return expected === actual;
    if (!this.#actualOf.has(expected) && !this.#expectedOf.has(actual)) {
      this.#actualOf.set(expected, actual);
      this.#expectedOf.set(actual, expected);
    }
    return this.#actualOf.get(expected) === actual;
  }

  /** The text with the names that this run has chosen replaced by marks. */
  text(text) {
    const withMarks = this.#namespaces.reduce(
      (rest, name, index) => rest.replaceAll(name, index === 0 ? '<ns>' : `<ns${index + 1}>`),
      text,
    );
    return withMarks.replaceAll(this.#suffix, '<suffix>');
  }

  /** The value with marks, and with sorted members. */
  value(value, key = '', parent) {
    if (Array.isArray(value)) return value.map((entry) => this.value(entry, '', value));
    if (value !== null && typeof value === 'object') {
      const object = withoutStoreVersion(value);
      const names = Object.keys(object).sort();
      return Object.fromEntries(names.map((name) => [name, this.value(object[name], name, object)]));
    }
    return typeof value === 'string' ? this.#string(value, key, parent) : value;
  }

  #string(value, key, parent) {
    if (key === 'uid' && uid.test(value)) return numbered(this.#uids, 'uid', value);
    if (key === 'resourceVersion' && version.test(value)) return numbered(this.#versions, 'rv', value);
    if (isTime(key, parent) && seconds.test(value)) return '<time>';
    if (key === 'expirationTimestamp') return '<time>';
    if (key === 'continue' && value) return '<continue>';
    if (key === 'token' && value.split('.').length === 3) return '<jwt>';
    if (key === 'name' && isGenerated(value, parent?.generateName)) return '<generated>';
    return this.text(value);
  }
}

function numbered(known, label, value) {
  if (!known.has(value)) known.set(value, known.size + 1);
  return `<${label}:${known.get(value)}>`;
}

const isTime = (key, parent) =>
  key === 'creationTimestamp' ||
  key === 'deletionTimestamp' ||
  (key === 'time' && parent !== undefined && 'fieldsType' in parent);

const isGenerated = (name, base) =>
  typeof base === 'string' && base !== '' && name.startsWith(base) && generatedSuffix.test(name.slice(base.length));

/** The version of a list or a bookmark is that of the whole store: it says nothing about one object. */
function withoutStoreVersion(object) {
  if (Array.isArray(object.items) || Array.isArray(object.rows)) return withStoreMark(object);
  return object.type === 'BOOKMARK' ? { ...object, object: withStoreMark(object.object) } : object;
}

function withStoreMark(object) {
  if (!version.test(object?.metadata?.resourceVersion)) return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion: '<list-rv>' } };
}

export function parseBody({ headers, text }) {
  if (!/json/.test(headers['content-type'] ?? '')) return text;
  return parseJson(text) ?? parseLines(text) ?? text;
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The events of a watch. */
function parseLines(text) {
  const values = text
    .split('\n')
    .filter((line) => line.trim())
    .map(parseJson);
  return values.includes(undefined) ? undefined : values;
}

/** The parts of a response that a step compares. */
export function comparableResponse(response, marks, step) {
  const { status, headers, text } = response;
  const result = { status: step.anyFailure && status >= 400 ? 'failure' : status };
  const contentType = headers['content-type'];
  if (contentType) result.contentType = contentType.replaceAll(/\s/g, '').toLowerCase();
  const warnings = warningsOf(response).map((warning) => marks.text(warning));
  if (warnings.length > 0) result.warnings = warnings.sort();
  for (const name of step.headersToCompare ?? []) {
    result[`header ${name}`] = headers[name] === undefined ? null : marks.value(headers[name], 'uid');
  }
  if (step.bodyShape === 'none') return result;
  if (step.layout) result.layout = text.trimEnd().includes('\n') ? 'indented' : 'one line';
  result.body = comparableBody(parseBody(response), marks, step);
  return result;
}

const warningsOf = ({ rawHeaders }) =>
  rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1].toLowerCase() === 'warning');

/** Long texts count only if the step says so. */
const longText = 400;

function comparableBody(body, marks, step) {
  const result = marked(body, marks, step);
  for (const pointer of step.ignore ?? []) removeAt(result, pointer);
  for (const pointer of step.sort ?? []) valueAt(result, pointer)?.sort?.(byText);
  if (step.sortItems) result?.items?.sort(byText);
  return result;
}

function marked(body, marks, step) {
  if (step.pick) return pick(body, step.pick, marks);
  if (typeof body !== 'string') return marks.value(body);
  return step.bodyShape === 'text' || body.length < longText ? marks.text(body) : '<text>';
}

const byText = (one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);

/** The values at these pointers; null where there is none. */
export function pick(value, pointers, marks) {
  return Object.fromEntries(
    pointers.map((pointer) => {
      const found = valueAt(value, pointer);
      const key = nameAt(pointer);
      if (found === undefined) return [pointer, null];
      const isList = Array.isArray(found) && pointer.includes('*');
      return [pointer, isList ? found.map((entry) => marks.value(entry, key)) : marks.value(found, key)];
    }),
  );
}
