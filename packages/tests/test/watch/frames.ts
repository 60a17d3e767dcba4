import { contentOf } from './content.ts';
import { type Delivered, initialEndNames } from './streams.ts';
import type { ApiObject } from './view.ts';

/** What a line of a watch says: an event, or the code of the status that ends it; 0 for what cannot be understood. */
export type Frame = Delivered | { readonly error: number; readonly text: string };

/** Most watchers are told the same, byte for byte, and at about the same time. */
const remembered = new Map<string, Frame>();
const rememberedMax = 20_000;

/** Two watchers that are told the same get the same object. */
export function readFrame(line: string): Frame {
  let frame = remembered.get(line);
  if (!frame) {
    if (remembered.size >= rememberedMax) remembered.clear();
    // Lines are kept as bytes in characters, which is cheap to compare and is undone here.
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
