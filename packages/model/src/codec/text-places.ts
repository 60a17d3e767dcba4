import { requireValue } from '@cluster-apiserver/base';
import { type Mark, markYaml } from './yaml.ts';

/** A place of a text, as editors count: from one. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The places of values in a YAML or JSON text. */
export interface TextPlaces {
  /** Of the value at a path; of the nearest one around it if the text has none there. */
  of(path: readonly (string | number)[]): Place;
  /** Of the key of a map at a path; of the map if it has no such key. */
  ofKey(path: readonly (string | number)[], key: string): Place;
  /** Keys that a map has already, in the order of the text. */
  readonly duplicateKeys: readonly (Place & { readonly name: string })[];
}

/**
 * Reads the text a second time, for where things are in it: that is worth it only once a fault is known. The text is
 * one that `parseYaml` has read. Of several documents the first one counts.
 */
export function textPlaces(text: string): TextPlaces {
  const { root, duplicateKeys } = markYaml(text);
  const place = placesIn(text);
  const find = (path: readonly (string | number)[]): { readonly offset: number; readonly node: Mark } => {
    let found = { offset: root.offset, node: root };
    for (const step of path) {
      const next = typeof step === 'number' ? findItem(found.node, step) : findMember(found.node, step, text);
      if (!next) break;
      found = next;
    }
    return found;
  };
  return {
    of: (path) => place(find(path).offset),
    ofKey: (path, key) => {
      const { offset, node } = find(path);
      return place(node.members.get(key)?.keyOffset ?? offset);
    },
    duplicateKeys: duplicateKeys
      .toSorted((one, other) => one.offset - other.offset)
      .map(({ offset, name }) => ({ ...place(offset), name })),
  };
}

const findItem = ({ items }: Mark, index: number): { offset: number; node: Mark } | undefined => {
  const node = items[index];
  return node && { offset: node.offset, node };
};

/** A value of several lines is located at its key, any other one at the value itself. */
function findMember({ members }: Mark, name: string, text: string): { offset: number; node: Mark } | undefined {
  const found = members.get(name);
  if (!found) return undefined;
  const { keyOffset, mark: node } = found;
  const spansLines = node.isBlockScalar || node.offset < 0 || text.slice(keyOffset, node.offset).includes('\n');
  return { offset: spansLines ? keyOffset : node.offset, node };
}

/** The lines are counted once: a file of the wrong kind can have a fault on each of its lines. */
function placesIn(text: string): (offset: number) => Place {
  const lineStarts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lineStarts.push(end + 1);
  return (offset) => {
    const at = Math.max(0, offset);
    let [low, high] = [0, lineStarts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (requireValue(lineStarts[middle]) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - requireValue(lineStarts[low]) + 1 };
  };
}
