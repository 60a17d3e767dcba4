/** Which FlowSchema a request belongs to, compiled: no list of the objects is searched for a request. */
import type { UserInfo } from '@cluster-apiserver/model';

/** What FlowSchemas look at. */
export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: {
    readonly verb: string;
    readonly path: string;
    /** Undefined for paths that are no resources. */
    readonly resource:
      | {
          readonly group: string;
          readonly plural: string;
          readonly subresource: string | undefined;
          readonly namespace: string | undefined;
          readonly name?: string | undefined;
        }
      | undefined;
  };
}

/** The parts of the object that count. */
export interface FlowSchemaObject {
  readonly metadata: { readonly name?: string; readonly uid?: string };
  readonly spec: {
    readonly priorityLevelConfiguration: { readonly name: string };
    readonly matchingPrecedence: number;
    readonly distinguisherMethod?: { readonly type: string };
    readonly rules?: readonly FlowRule[];
  };
}

interface FlowRule {
  readonly subjects: readonly FlowSubject[] | null;
  readonly resourceRules?: readonly ResourceRule[];
  readonly nonResourceRules?: readonly PathRule[];
}

interface FlowSubject {
  readonly kind: string;
  readonly user?: { readonly name: string };
  readonly group?: { readonly name: string };
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

interface ResourceRule {
  readonly verbs: readonly string[] | null;
  readonly apiGroups: readonly string[] | null;
  readonly resources: readonly string[] | null;
  readonly clusterScope?: boolean;
  readonly namespaces: readonly string[] | null;
}

interface PathRule {
  readonly verbs: readonly string[] | null;
  readonly nonResourceURLs: readonly string[] | null;
}

export interface CompiledFlowSchema {
  readonly name: string;
  readonly uid: string | undefined;
  readonly level: string;
  readonly precedence: number;
  matches(request: FlowRequest): boolean;
  /** What tells the flows of the schema apart. */
  flowOf(request: FlowRequest): string;
}

type Test<T> = (value: T) => boolean;

/** A loop, because each request is tested by all rules, and a closure for each test would be garbage. */
function matchesAny<T>(tests: readonly Test<T>[], value: T): boolean {
  for (const test of tests) if (test(value)) return true;
  return false;
}

export function compileFlowSchema({ metadata: { name = '', uid }, spec }: FlowSchemaObject): CompiledFlowSchema {
  const rules = (spec.rules ?? []).map(compileRule);
  return {
    name,
    uid,
    level: spec.priorityLevelConfiguration.name,
    precedence: spec.matchingPrecedence,
    matches: (request) => matchesAny(rules, request),
    flowOf: distinguishers[spec.distinguisherMethod?.type ?? ''] ?? (() => ''),
  };
}

/** The one that counts of those that match comes first: the smallest precedence, then the name. */
export const compareFlowSchemas = (one: CompiledFlowSchema, other: CompiledFlowSchema): number =>
  one.precedence - other.precedence || (one.name < other.name ? -1 : 1);

const distinguishers: Readonly<Record<string, (request: FlowRequest) => string>> = {
  ByUser: ({ user }) => user.name,
  ByNamespace: ({ info }) => info.resource?.namespace ?? '',
};

function compileRule({ subjects, resourceRules = [], nonResourceRules = [] }: FlowRule): Test<FlowRequest> {
  const isSubject = compileSubjects(subjects ?? []);
  const resources = resourceRules.map(compileResourceRule);
  const paths = nonResourceRules.map(compilePathRule);
  return (request) =>
    isSubject(request.user) && matchesAny<FlowRequest>(request.info.resource ? resources : paths, request);
}

const everything = '*';
const accountPrefix = 'system:serviceaccount:';

function compileSubjects(subjects: readonly FlowSubject[]): Test<UserInfo> {
  const users = new Set<string>();
  const groups = new Set<string>();
  /** Beginnings of the names of all service accounts of a namespace. */
  const namespaces: string[] = [];
  for (const { kind, user, group, serviceAccount } of subjects) {
    if (kind === 'User' && user) users.add(user.name);
    if (kind === 'Group' && group) groups.add(group.name);
    if (kind !== 'ServiceAccount' || !serviceAccount) continue;
    const prefix = `${accountPrefix}${serviceAccount.namespace}:`;
    if (serviceAccount.name === everything) namespaces.push(prefix);
    else users.add(prefix + serviceAccount.name);
  }
  if (users.has(everything) || groups.has(everything)) return () => true;
  return ({ name, groups: own }) => {
    if (users.has(name)) return true;
    if (groups.size > 0) for (const group of own) if (groups.has(group)) return true;
    for (const prefix of namespaces) if (name.startsWith(prefix)) return true;
    return false;
  };
}

/** Matches all values if `*` is among them. */
function compileNames(names: readonly string[] | null): Test<string> {
  if (names?.includes(everything)) return () => true;
  const all = new Set(names);
  return (name) => all.has(name);
}

function compileResourceRule(rule: ResourceRule): Test<FlowRequest> {
  const [isVerb, isGroup, isResource, isNamespace] = [
    compileNames(rule.verbs),
    compileNames(rule.apiGroups),
    compileNames(rule.resources),
    compileNames(rule.namespaces),
  ];
  return ({ info: { verb, resource } }) => {
    if (!resource || !isVerb(verb) || !isGroup(resource.group)) return false;
    const { namespace, plural, subresource } = resource;
    if (!isResource(subresource === undefined ? plural : `${plural}/${subresource}`)) return false;
    return namespace ? isNamespace(namespace) : rule.clusterScope === true;
  };
}

function compilePathRule({ verbs, nonResourceURLs }: PathRule): Test<FlowRequest> {
  const isVerb = compileNames(verbs);
  const isPath = compileNames(nonResourceURLs);
  const prefixes = (nonResourceURLs ?? []).flatMap((path) => (path.endsWith('/*') ? path.slice(0, -1) : []));
  return ({ info: { verb, path } }) =>
    isVerb(verb) && (isPath(path) || prefixes.some((prefix) => path.startsWith(prefix)));
}
