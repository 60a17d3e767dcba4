import { collectionPath, type JudgedResource } from '../fault/judged-resources.ts';

/** The objects that a watch selects. */
export interface View {
  readonly resource: JudgedResource;
  /** Undefined for all namespaces. */
  readonly namespace?: string;
  /** Query parameters of the request. */
  readonly query?: Readonly<Record<string, string>>;
  /** The same selection as a predicate, independent of the server's code. */
  readonly matches?: (object: ApiObject) => boolean;
}

/** The parts of an object that a view uses. */
export interface ApiObject {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export const isVisible = ({ namespace, matches: sees }: View, object: ApiObject): boolean =>
  (namespace === undefined || object.metadata.namespace === namespace) && (sees?.(object) ?? true);

export const pathOf = ({ resource, namespace, query }: View, more: Readonly<Record<string, string>> = {}): string =>
  `${collectionPath(resource, namespace)}?${new URLSearchParams({ ...query, ...more })}`;
