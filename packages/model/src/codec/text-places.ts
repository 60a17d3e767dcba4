import { requireValue } from '@cluster-apiserver/base';
import { type Event, EVENT_ID, getScalarValue, parseEvents, SCALAR_STYLE, type ScalarEvent } from 'js-yaml';
import { nestingMax } from '../json/json-scan.ts';

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

interface Node {
  readonly offset: number;
  readonly isBlockScalar: boolean;
  readonly items: Node[];
  readonly members: Map<string, { readonly keyOffset: number; readonly node: Node }>;
}

/**
 * Reads the text a second time, for where things are in it: that is worth it only once a fault is known. The text is
 * one that `parseYaml` has read. Of several documents the first one counts.
 */
export function textPlaces(text: string): TextPlaces {
  const { root, duplicateKeys } = buildTree(text);
  const place = placesIn(text);
  const find = (path: readonly (string | number)[]): { readonly offset: number; readonly node: Node } => {
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
    duplicateKeys: duplicateKeys.map(({ offset, name }) => ({ ...place(offset), name })),
  };
}

const findItem = ({ items }: Node, index: number): { offset: number; node: Node } | undefined => {
  const node = items[index];
  return node && { offset: node.offset, node };
};

/** A value of several lines is located at its key, any other one at the value itself. */
function findMember({ members }: Node, name: string, text: string): { offset: number; node: Node } | undefined {
  const found = members.get(name);
  if (!found) return undefined;
  const { keyOffset, node } = found;
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

interface Open {
  readonly node: Node;
  readonly isMap: boolean;
  key: { readonly name: string; readonly offset: number } | undefined;
  readonly merged: Node[];
}

const newNode = (offset: number, isBlockScalar = false): Node => ({
  offset,
  isBlockScalar,
  items: [],
  members: new Map(),
});

interface Tree {
  readonly root: Node;
  readonly duplicateKeys: readonly { readonly offset: number; readonly name: string }[];
}

function buildTree(text: string): Tree {
  const duplicateKeys: { offset: number; name: string }[] = [];
  const anchors = new Map<string, Node>();
  const open: Open[] = [];
  let root = newNode(0);
  const put = (node: Node, event: { anchorStart: number; anchorEnd: number }): void => {
    if (event.anchorStart >= 0) anchors.set(text.slice(event.anchorStart, event.anchorEnd), node);
    const parent = open.at(-1);
    if (!parent) root = node;
    else if (!parent.isMap) parent.node.items.push(node);
    else if (parent.key) {
      if (parent.key.name === '<<') parent.merged.push(...(node.items.length > 0 ? node.items : [node]));
      else parent.node.members.set(parent.key.name, { keyOffset: parent.key.offset, node });
      parent.key = undefined;
    } else parent.key = { name: '', offset: node.offset }; // an alias as a key
  };
  const begin = (event: { start: number; anchorStart: number; anchorEnd: number }, isMap: boolean): void => {
    const node = newNode(event.start);
    put(node, event);
    open.push({ node, isMap, key: undefined, merged: [] });
  };
  const scalar = (event: ScalarEvent): void => {
    const offset = event.valueStart - (isQuoted(event) ? 1 : 0);
    const parent = open.at(-1);
    if (!parent?.isMap || parent.key) return put(newNode(offset, isBlock(event)), event);
    const name = getScalarValue(text, event);
    if (parent.node.members.has(name)) duplicateKeys.push({ offset, name });
    parent.key = { name, offset };
  };
  for (const event of parseYamlEvents(text)) {
    if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE)
      begin(event, event.type === EVENT_ID.MAPPING);
    else if (event.type === EVENT_ID.SCALAR) scalar(event);
    else if (event.type === EVENT_ID.ALIAS) {
      const target = anchors.get(text.slice(event.anchorStart, event.anchorEnd)) ?? newNode(0);
      // The alias is located where it is; the values below it, where they were written.
      put({ ...target, offset: event.anchorStart - 1 }, { anchorStart: -1, anchorEnd: -1 });
    } else if (event.type === EVENT_ID.POP) {
      const ended = open.pop();
      if (!ended) break; // the document ends
      for (const part of ended.merged)
        for (const [name, found] of part.members)
          if (!ended.node.members.has(name)) ended.node.members.set(name, found);
    }
  }
  return { root, duplicateKeys };
}

/** Of a text that cannot be read nothing is found. */
function parseYamlEvents(text: string): readonly Event[] {
  try {
    return parseEvents(text, { maxDepth: nestingMax });
  } catch {
    return []; // JSON that is no YAML: its faults have no places
  }
}

const isQuoted = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;

const isBlock = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK;
