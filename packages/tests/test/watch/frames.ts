import { contentOf } from './content.ts';
import { type Delivered, initialEndNames } from './streams.ts';
import type { ApiObject } from './view.ts';

/** A line of a watch: an event, or the code of the Status that ends it; 0 for an invalid line. */
export type Frame = Delivered | { readonly error: number; readonly text: string };

/** Most watchers receive identical bytes at about the same time, so parsed lines are cached. */
const remembered = new Map<string, Frame>();
const rememberedMax = 20_000;

/** Parses a line; equal lines return the same object. */
export function readFrame(line: string): Frame {
  let frame = remembered.get(line);
  if (!frame) {
    if (remembered.size >= rememberedMax) remembered.clear();
    // Lines are stored as latin1 strings, which are cheap to compare, and decoded here.
    remembered.set(line, (frame = parseFrame(Buffer.from(line, 'latin1').toString())));
  }
  return frame;
}

interface Sent {
  readonly type: Delivered['type'] | 'ERROR';
  readonly object: ApiObject & {
    readonly code?: number;
    readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
  };
}

function parseFrame(text: string): Frame {
  try {
    return frameOf(JSON.parse(text) as Sent, text);
  } catch {
    return { error: 0, text };
  }
}

function frameOf({ type, object }: Sent, text: string): Frame {
  if (type === 'ERROR') return { error: object.code ?? 0, text };
  const { namespace, name, resourceVersion, annotations } = object.metadata;
  const revision = Number(resourceVersion);
  if (type === 'BOOKMARK') {
    const initialEnds = initialEndNames.filter((ending) => annotations?.[ending] === 'true').length;
    return { type, key: '', revision, content: '', initialEnds };
  }
  return { type, key: `${namespace}/${name}`, revision, content: contentOf(object, revision), initialEnds: 0 };
}
