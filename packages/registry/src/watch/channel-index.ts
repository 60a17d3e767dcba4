import type { ItemChange } from '@cluster-apiserver/storage';
import { isFieldOfKey, type Selection } from '../read/selection.ts';
import { type CachedObject, fieldTerm, labelTerm } from '../stored-object.ts';

/** A selector that lists more values than this is evaluated for every change. */
const indexedValuesMax = 8;

/**
 * The channels of one scope, indexed by a term that their selector requires. If a thousand watchers each select one
 * label, a change only costs those whose label the object has.
 */
export class ChannelIndex<Channel extends { readonly selection: Selection }> {
  readonly #unindexed = new Set<Channel>();
  readonly #byTerm = new Map<string, Set<Channel>>();

  get isEmpty(): boolean {
    return this.#unindexed.size === 0 && this.#byTerm.size === 0;
  }

  add(channel: Channel): void {
    const terms = requiredTerms(channel.selection);
    if (!terms) this.#unindexed.add(channel);
    for (const term of terms ?? []) {
      const channels = this.#byTerm.get(term);
      if (channels) channels.add(channel);
      else this.#byTerm.set(term, new Set([channel]));
    }
  }

  delete(channel: Channel): void {
    this.#unindexed.delete(channel);
    for (const term of requiredTerms(channel.selection) ?? []) {
      const channels = this.#byTerm.get(term);
      channels?.delete(channel);
      if (channels?.size === 0) this.#byTerm.delete(term);
    }
  }

  /** Visits the channels that may select the object before or after a change, a channel perhaps twice. */
  forEach({ previous, current }: ItemChange<CachedObject>, visit: (channel: Channel) => void): void {
    for (const channel of this.#unindexed) visit(channel);
    if (this.#byTerm.size === 0) return;
    // An unreadable object may match any selector, or have matched it before the change.
    if (previous?.unreadable || current?.unreadable)
      for (const channels of this.#byTerm.values()) for (const channel of channels) visit(channel);
    for (const item of [previous, current])
      for (const term of termsOf(item)) for (const channel of this.#byTerm.get(term) ?? []) visit(channel);
  }
}

/** Every selected object has one of these terms. Undefined if the selector requires none. */
function requiredTerms({ labels, fields, fieldsOf }: Selection): readonly string[] | undefined {
  for (const { key, operator, values } of labels?.requirements ?? [])
    if (operator === 'in' && values.length <= indexedValuesMax) return values.map((value) => labelTerm(key, value));
  // Not all objects have the fields of the selector.
  if (fieldsOf !== undefined) return undefined;
  for (const { field, equal, value } of fields?.terms ?? [])
    if (equal && value !== '' && !isFieldOfKey(field)) return [fieldTerm(field, value)];
  return undefined;
}

function* termsOf(item: CachedObject | undefined): Generator<string> {
  if (!item || item.unreadable) return;
  for (const key in item.labels) {
    const value = item.labels[key];
    if (value !== undefined) yield labelTerm(key, value);
  }
  for (const field in item.fields) {
    const value = item.fields[field];
    if (value !== undefined) yield fieldTerm(field, value);
  }
}
