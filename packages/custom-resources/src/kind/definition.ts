import type { JsonSchema } from '../schema/json-schema.ts';

/** What a kind is made of: the parts of a CustomResourceDefinition that are valid. */
export interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: DefinedNames;
    readonly versions?: readonly DefinedVersion[];
  };
  readonly status: { readonly acceptedNames: DefinedNames };
}

export interface DefinedNames {
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly listKind?: string;
  readonly categories?: readonly string[];
}

export interface DefinedVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: JsonSchema };
  readonly subresources?: { readonly status?: object; readonly scale?: ScalePaths };
  readonly additionalPrinterColumns?: readonly DefinedColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface DefinedColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}
