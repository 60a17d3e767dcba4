// Compares a response with the recorded one.
import { valueAt } from './pointers.mjs';

/** More differences than this explain nothing more. */
const differencesMax = 12;

/** The differences of two comparable responses, one line each. */
export function findDifferences(expected, actual, step, marks) {
  const found = [];
  compare(relax(expected, step), relax(actual, step), marks, '', found);
  return found;
}

/**
 * Without the wording of errors, where clients cannot rely on it: errors 400 and 422, unless the step says
 * `message: exact`, and others with `message: loose`. The message may not be empty.
 */
function relax(response, step) {
  const relaxed = structuredClone(response);
  const objects = [relaxed.body, relaxed.events].flat();
  for (const status of [...objects, ...objects.map((event) => event?.object)]) {
    if (status?.kind === 'Status') relaxStatus(status, step);
  }
  if (relaxed.warnings && step.warnings === 'loose') relaxed.warnings = relaxed.warnings.map(() => '<some warning>');
  return relaxed;
}

function relaxStatus(status, step) {
  const wording = step.message ?? ([400, 422].includes(status.code) ? 'loose' : 'exact');
  if (wording === 'loose' && typeof status.message === 'string' && status.message !== '') {
    status.message = '<some message>';
  }
  if (status.details?.causes) {
    status.details.causes = status.details.causes.map(({ field, reason }) => ({ field, reason })).sort(byText);
  }
}

const byText = (one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function compare(expected, actual, marks, at, found) {
  if (found.length > differencesMax) return;
  const place = at || '/';
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) {
      found.push(`${place}: expected ${expected.length} entries, got ${actual.length}`);
    }
    const shared = Math.min(expected.length, actual.length);
    for (let index = 0; index < shared; index++)
      compare(expected[index], actual[index], marks, `${at}/${index}`, found);
  } else if (isObject(expected) && isObject(actual)) compareMembers(expected, actual, marks, at, found);
  else if (!marks.areEqual(expected, actual)) found.push(`${place}: expected ${short(expected)}, got ${short(actual)}`);
}

function compareMembers(expected, actual, marks, at, found) {
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    if (name in expected && name in actual) compare(expected[name], actual[name], marks, `${at}/${name}`, found);
    else if (name in expected) found.push(`${at}/${name}: missing, expected ${short(expected[name])}`);
    // A server may add annotations of its own.
    else if (!at.endsWith('/annotations')) found.push(`${at}/${name}: unexpected ${short(actual[name])}`);
  }
}

const shortMax = 160;

function short(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > shortMax ? `${text.slice(0, shortMax - 3)}…` : text;
}

const relations = {
  '==': (one, other) => one === other,
  '!=': (one, other) => one !== other,
  '>': (one, other) => BigInt(one) > BigInt(other),
  '>=': (one, other) => BigInt(one) >= BigInt(other),
  '<': (one, other) => BigInt(one) < BigInt(other),
  '<=': (one, other) => BigInt(one) <= BigInt(other),
};

/** The checks `[pointer, relation, value]` that do not hold. */
export function findUnmet(body, checks, fill) {
  return checks.flatMap(([pointer, relation, value]) => {
    const actual = valueAt(body, pointer);
    const wanted = fill(value);
    if (actual !== undefined && actual !== null && holds(relation, String(actual), String(wanted))) return [];
    return [`${pointer}: expected ${relation} ${wanted}, got ${short(actual)}`];
  });
}

function holds(relation, actual, wanted) {
  try {
    return relations[relation](actual, wanted);
  } catch {
    return false; // not numbers
  }
}
