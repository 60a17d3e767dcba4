import type { PolicyRule } from '@cluster-apiserver/model';

/**
 * The compiled rules of a role: a decision checks only the rules for its resource. The same matching decides whether these
 * rules cover a part of other rules, where only `*` covers `*`.
 */
export class RuleSet {
  /** The original rules. */
  readonly rules: readonly PolicyRule[];
  readonly #byResource = new Map<string, ResourceRule[]>();
  readonly #byPath = new Map<string, Names[]>();
  readonly #byPathPrefix = new Map<string, Names[]>();

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules;
    for (const { verbs, apiGroups, resources = [], resourceNames = [], nonResourceURLs = [] } of rules) {
      const rule: ResourceRule = {
        verbs: toNames(verbs),
        groups: toNames(apiGroups),
        objects: resourceNames.length === 0 ? undefined : new Set(resourceNames),
      };
      for (const resource of new Set(resources)) addTo(this.#byResource, resource, rule);
      for (const path of new Set(nonResourceURLs))
        if (path.endsWith('*')) addTo(this.#byPathPrefix, path.replace(/\*+$/, ''), rule.verbs);
        else addTo(this.#byPath, path, rule.verbs);
    }
  }

  /**
   * `resource` is a plural name, or `name/subresource`; then `wildcard` is `*` with that subresource. `object` is '' for a
   * request without a name, and undefined for all objects.
   */
  allowsResource(
    verb: string,
    group: string,
    resource: string,
    wildcard: string | undefined,
    object: string | undefined,
  ): boolean {
    return (
      isAllowed(this.#byResource.get(resource), verb, group, object) ||
      isAllowed(this.#byResource.get('*'), verb, group, object) ||
      (wildcard !== undefined && isAllowed(this.#byResource.get(wildcard), verb, group, object))
    );
  }

  allowsPath(verb: string, path: string): boolean {
    if (someHas(this.#byPath.get(path), verb)) return true;
    for (const [prefix, verbs] of this.#byPathPrefix) if (path.startsWith(prefix) && someHas(verbs, verb)) return true;
    return false;
  }
}

/** The entry of a rule that matches the subresource of all resources. */
export const getWildcard = (subresource: string): string => `*/${subresource}`;

/** Undefined for all names. */
type Names = ReadonlySet<string> | undefined;

interface ResourceRule {
  readonly verbs: Names;
  readonly groups: Names;
  readonly objects: Names;
}

const toNames = (names: readonly string[] = []): Names => (names.includes('*') ? undefined : new Set(names));

const has = (names: Names, name: string): boolean => names === undefined || names.has(name);

const someHas = (all: readonly Names[] | undefined, name: string): boolean =>
  all?.some((names) => has(names, name)) ?? false;

function isAllowed(
  rules: readonly ResourceRule[] | undefined,
  verb: string,
  group: string,
  object: string | undefined,
): boolean {
  if (!rules) return false;
  for (const { verbs, groups, objects } of rules) {
    const hasObject = objects === undefined || (object !== undefined && objects.has(object));
    if (hasObject && has(verbs, verb) && has(groups, group)) return true;
  }
  return false;
}

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}
