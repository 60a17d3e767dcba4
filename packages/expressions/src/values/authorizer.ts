import { type AccessDecision, type AccessAttributes, decisionNotReady, type UserInfo } from '@cluster-apiserver/model';
import { readFieldSelector, readLabelSelector } from '@cluster-apiserver/model/selector';
import { Interruption } from '../run/progress.ts';
import { EvaluationError, Opaque } from './value.ts';

/** Answers at once where it can. */
export type Authorize = (attributes: AccessAttributes) => AccessDecision | Promise<AccessDecision>;

/** The authorization checks of one evaluation. Each is performed once; a pending one interrupts the evaluation. */
export class AccessChecks {
  readonly #authorize: Authorize;
  readonly #decisions = new Map<string, AccessDecision>();

  constructor(authorize: Authorize) {
    this.#authorize = authorize;
  }

  decide(attributes: AccessAttributes): AccessDecision {
    const key = JSON.stringify(attributes);
    const known = this.#decisions.get(key);
    if (known) return known;
    const decision = this.#authorize(attributes);
    if (decision instanceof Promise) throw new Interruption(decision.then((decided) => this.#keep(key, decided)));
    return this.#keep(key, decision);
  }

  #keep(key: string, decision: AccessDecision): AccessDecision {
    if (decision.verdict === 'notReady') throw decisionNotReady();
    this.#decisions.set(key, decision);
    return decision;
  }
}

/** A value with functions only; it is equal to nothing, not even to itself. */
abstract class Receiver extends Opaque {
  override equals(): boolean {
    throw new EvaluationError('no such overload');
  }
}

const typeNameOf = (kind: string): string => `kubernetes.authorization.${kind}`;

/** `authorizer`: whether a user may do something. */
export class AuthorizerValue extends Receiver {
  override readonly typeName = typeNameOf('Authorizer');
  readonly checks: AccessChecks;
  readonly user: UserInfo;

  constructor(checks: AccessChecks, user: UserInfo) {
    super();
    this.checks = checks;
    this.user = user;
  }
}

export class PathCheck extends Receiver {
  override readonly typeName = typeNameOf('PathCheck');
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }

  check(verb: string): DecisionValue {
    const { checks, user } = this.authorizer;
    return new DecisionValue(checks.decide({ user, verb, path: this.path }));
  }
}

export class GroupCheck extends Receiver {
  override readonly typeName = typeNameOf('GroupCheck');
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

/** Texts are empty where nothing is said. */
export interface CheckedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export class ResourceCheck extends Receiver {
  override readonly typeName = typeNameOf('ResourceCheck');
  readonly authorizer: AuthorizerValue;
  readonly resource: CheckedResource;

  constructor(authorizer: AuthorizerValue, resource: CheckedResource) {
    super();
    this.authorizer = authorizer;
    this.resource = resource;
  }

  with(more: Partial<CheckedResource>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.resource, ...more });
  }

  check(verb: string): DecisionValue {
    const { checks, user } = this.authorizer;
    const { group, resource, subresource, namespace, name, fieldSelector, labelSelector } = this.resource;
    return new DecisionValue(
      checks.decide({
        user,
        verb,
        path: '',
        resource: {
          group,
          version: '*',
          resource,
          subresource: subresource || undefined,
          namespace: namespace || undefined,
          name: name || undefined,
          fieldSelector: readFieldSelector({ rawSelector: fieldSelector }).selector,
          labelSelector: readLabelSelector({ rawSelector: labelSelector }).selector,
        },
      }),
    );
  }
}

export class DecisionValue extends Receiver {
  override readonly typeName = typeNameOf('Decision');
  readonly decision: AccessDecision;

  constructor(decision: AccessDecision) {
    super();
    this.decision = decision;
  }
}
