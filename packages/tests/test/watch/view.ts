/** What a watch asks to see. */
export interface View {
  /** Undefined for all namespaces. */
  readonly namespace?: string;
  /** How the request says it. */
  readonly query?: Readonly<Record<string, string>>;
  /** What it means, said again without the server's words. */
  readonly matches?: (object: ApiObject) => boolean;
}

/** As much of an object as a view looks at. */
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

export const pathOf = ({ namespace, query }: View, more: Readonly<Record<string, string>> = {}): string => {
  const collection = namespace === undefined ? 'serviceaccounts' : `namespaces/${namespace}/serviceaccounts`;
  return `/api/v1/${collection}?${new URLSearchParams({ ...query, ...more })}`;
};
