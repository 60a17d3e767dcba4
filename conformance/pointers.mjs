// JSON pointers with a few additions, by which cases name parts of responses.

const partsOf = (pointer) =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The last part that is a name. */
export const nameAt = (pointer) =>
  partsOf(pointer)
    .filter((part) => part !== '*')
    .pop();

/**
 * The value at a pointer, or undefined. A part may also be `*` (every entry of a list), `[name=x]` (the entry of a list
 * with that member), `#jwt` (the claims of a token) or `#count` (the number of entries).
 */
export function valueAt(value, pointer) {
  return pointer === '' ? value : follow(value, partsOf(pointer));
}

function follow(value, parts) {
  if (parts.length === 0 || value === undefined || value === null) return value;
  const [part, ...rest] = parts;
  if (part === '#jwt') return follow(claimsOf(value), rest);
  if (part === '#count') return follow(Object.keys(value).length, rest);
  if (!Array.isArray(value)) return follow(value[part], rest);
  if (part === '*') return value.map((entry) => follow(entry, rest) ?? null);
  const [, member, wanted] = /^\[([^=]+)=(.*)\]$/.exec(part) ?? [];
  const entry = member ? value.find((one) => String(one?.[member]) === wanted) : value[Number(part)];
  return follow(entry, rest);
}

function claimsOf(token) {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
  } catch {
    return undefined; // no token
  }
}

/** Removes the value at a pointer; an entry of a list is replaced, so that the others keep their places. */
export function removeAt(value, pointer) {
  removeIn(value, partsOf(pointer));
}

function removeIn(value, parts) {
  const [part, ...rest] = parts;
  if (value === null || typeof value !== 'object') return;
  for (const key of part === '*' ? Object.keys(value) : [part]) {
    if (rest.length > 0) removeIn(value[key], rest);
    else if (!Array.isArray(value)) delete value[key];
    else if (key in value) value[key] = '<ignored>';
  }
}
