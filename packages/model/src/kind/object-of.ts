import type { FieldDeclarations, FieldValues } from '../schema/schema.ts';
import type { KubeObject } from './object.ts';

/** The type of the objects of a kind with these fields. */
export type ObjectOf<F extends FieldDeclarations> = string extends keyof F ? KubeObject : KubeObject & FieldValues<F>;
