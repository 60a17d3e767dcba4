import type { Call } from '@cluster-apiserver/base';
import { decode } from '../schema/decode.ts';
import type { ApiVersion } from './api-version.ts';
import type { KubeObject } from './object.ts';

/** How the objects of a kind are converted from one of its versions to another. */
export type Conversion = ImmediateConversion | BatchConversion;

/** Converts one object at a time. It makes no promise, because that would cost every request of the version. */
export interface ImmediateConversion {
  readonly isImmediate: true;
  convert(object: KubeObject, from: ApiVersion, to: ApiVersion): KubeObject;
}

/** Waits for the answer of another process, which receives many objects at once. */
export interface BatchConversion {
  readonly isImmediate: false;
  /** The objects in their order. Rejects with a StatusError if one of them cannot be converted; none is left out. */
  convert(objects: readonly KubeObject[], from: ApiVersion, to: ApiVersion, call: Call): Promise<readonly KubeObject[]>;
}

/** For versions that only differ in the names of fields. */
export const renaming: ImmediateConversion = {
  isImmediate: true,
  convert: (object, from, to) =>
    from === to
      ? object
      : decode(
          to.schema,
          {
            ...renameFields(renameFields(object, from.fieldNames.toStored), to.fieldNames.fromStored),
            kind: to.kind,
            apiVersion: to.apiVersion,
          },
          () => {},
        ),
};

/** The fields of an object, or of a part of it, under other names. */
export const renameFields = (value: object, names: ReadonlyMap<string, string>): object =>
  names.size === 0
    ? value
    : Object.fromEntries(Object.entries(value).map(([name, held]) => [names.get(name) ?? name, held]));
