import { defineKind, type Kind, type KindHooks } from './kind.ts';
import type { KubeObject } from './object.ts';
import { decode } from '../schema/decode.ts';
import type { FieldDeclarations } from '../schema/schema.ts';

/**
 * A view serves the objects of another kind in another group or version, with other names for some of their fields and
 * validation of its own. Only the differences are declared.
 */
export interface ViewDeclaration<Stored extends KubeObject> {
  readonly of: Kind;
  readonly group: string;
  readonly version: string;
  readonly description: string;
  readonly fields: FieldDeclarations;
  readonly requiredFields?: readonly string[];
  /** The fields with another name than in the stored kind, each with its stored name. Their schemas are the same. */
  readonly renamed: Readonly<Record<string, string>>;
  /** The fields of field selectors, each with its stored name. */
  readonly selectableFields: Readonly<Record<string, string>>;
  /** Validates the stored form. As in kube-apiserver, errors have its field names. */
  readonly validate: NonNullable<KindHooks<Stored>['validate']>;
}

/** The properties of a kind that is a view of another one. */
export interface View {
  /** The kind as it is stored, with the rules of the view, under the group of the view where an answer names it. */
  readonly rules: Kind;
  /** The kind whose objects are seen. */
  readonly of: Kind;
  /** Names for names: of any value that has the fields of the view, even of a part of an object. */
  renameFields(value: object): Record<string, unknown>;
  toStored(object: KubeObject): KubeObject;
  fromStored(object: KubeObject): KubeObject;
  readonly selectableFields: Readonly<Record<string, string>>;
}

export function defineView<Stored extends KubeObject>(declaration: ViewDeclaration<Stored>): Kind {
  const { of, renamed, selectableFields, validate, ...own } = declaration;
  const kind = defineKind<FieldDeclarations>({
    ...of,
    ...own,
    subresources: [],
    parts: [],
    columns: of.columns.map((column) => ({
      ...column,
      value: (object, nowMs) => column.value(toStored(object), nowMs),
    })),
    selectableFields: Object.fromEntries(Object.keys(selectableFields).map((name) => [name, () => ''])),
  });
  const rename = createRenamer(new Map(Object.entries(renamed)));
  const renameBack = createRenamer(new Map(Object.entries(renamed).map(([ours, theirs]) => [theirs, ours])));
  const decodeAs = ({ schema, ...names }: Kind, value: object): KubeObject =>
    decode(schema, { ...value, kind: names.kind, apiVersion: names.apiVersion }, () => {});
  const toStored = (object: KubeObject): KubeObject => decodeAs(of, rename(object));
  const view: View = {
    rules: {
      ...of,
      group: declaration.group,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the hook only sees objects of the stored kind
      validate: validate as NonNullable<Kind['validate']>,
    },
    of,
    renameFields: rename,
    toStored,
    fromStored: (object) => decodeAs(kind, renameBack(object)),
    selectableFields,
  };
  return { ...kind, storedAs: { group: of.group, version: of.version, kind: of.kind }, view };
}

const createRenamer =
  (names: ReadonlyMap<string, string>) =>
  (value: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(value).map(([name, held]) => [names.get(name) ?? name, held]));

/** An object as clients of the kind see it, from the form in which it is stored. */
export const toServed = ({ view }: Kind, stored: KubeObject): KubeObject => (view ? view.fromStored(stored) : stored);

/** The way back. */
export const toStored = ({ view }: Kind, served: KubeObject): KubeObject => (view ? view.toStored(served) : served);
