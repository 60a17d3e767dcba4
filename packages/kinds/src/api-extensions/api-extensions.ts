import { publicationOf } from '@cluster-apiserver/model/schema';

export const apiExtensions = { group: 'apiextensions.k8s.io', version: 'v1' };

/** How a part of a definition is published. */
export const publicationOfPart = (kind: string, description: string, required: readonly string[] = []) =>
  publicationOf({ ...apiExtensions, kind }, description, required);
