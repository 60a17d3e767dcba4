import { asServed, decodeStored, type KubeObject, type ServedKind } from '@cluster-apiserver/model';
import type { Outcome, Resource } from '@cluster-apiserver/registry';
import type { Bytes } from '../exchange.ts';
import { encoded } from './encoded.ts';
import type { Form } from './negotiate.ts';
import { objectSchema, shownObject } from './shown.ts';

/** An object as a verb gave it. As JSON its bytes are ready, and nobody looks inside. */
export function objectBody({ served: kind, clock }: Resource, form: Form, { json }: Outcome): Bytes {
  const { encoding, shown } = form;
  if (encoding === 'json' && !shown && !kind.view) return `${json}\n`;
  return valueBody(kind, form, asServed(kind, decodeStored(json)), clock.now());
}

/** An object that is nowhere as bytes. */
export function valueBody(kind: ServedKind, { encoding, shown }: Form, object: KubeObject, nowMs: number): Bytes {
  const value = shown ? shownObject(kind, object, shown, { nowMs }) : object;
  return encoded(encoding, value, objectSchema(kind, shown));
}
