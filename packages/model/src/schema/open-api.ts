import type { Integer } from '../json/raw-number.ts';
import type { GroupVersionKind } from './group-version-kind.ts';

/** A schema as OpenAPI writes it, with the extensions by which clients of Kubernetes merge and explain. */
export interface JsonSchema {
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly $ref?: string;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: Integer;
  readonly exclusiveMinimum?: boolean;
  readonly maximum?: Integer;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: Integer;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
  readonly [extension: `x-kubernetes-${string}`]: unknown;
}

/** The differences between the versions of OpenAPI. */
export interface Dialect {
  /** The prefix of a reference to a definition. */
  readonly references: string;
  /** Whether a reference may have a description. If not, the reference is wrapped. */
  readonly describedReferences: boolean;
}
