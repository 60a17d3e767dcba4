import { asServed, decodeStored } from '@cluster-apiserver/model';
import type { Outcome, Resource } from '@cluster-apiserver/registry';
import type { Bytes } from '../exchange.ts';
import { encoded } from './encoded.ts';
import type { Form } from './negotiate.ts';
import { objectSchema, shownObject } from './shown.ts';

/** An object as a verb gave it. As JSON its bytes are ready, and nobody looks inside. */
export function objectBody({ served: kind, clock }: Resource, { encoding, shown }: Form, { json }: Outcome): Bytes {
  if (encoding === 'json' && !shown && !kind.view) return `${json}\n`;
  const object = asServed(kind, decodeStored(json));
  const value = shown ? shownObject(kind, object, shown, { nowMs: clock.now() }) : object;
  return encoded(encoding, value, objectSchema(kind, shown));
}
