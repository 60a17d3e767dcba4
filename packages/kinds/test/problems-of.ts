import { formatPath, Problems } from '@cluster-apiserver/model';
import type { ApiVersion, KubeObject } from '@cluster-apiserver/model/kind';
import { byServer } from './by-server.ts';

/** What the synchronous rules of a version say about an object. */
export function problemsOf({ validate }: ApiVersion, object: KubeObject, current?: KubeObject): Problems {
  const problems = new Problems();
  validate?.(object, current, problems, byServer);
  return problems;
}

/** The errors, each as its field, the end of its reason and perhaps its message. */
export const errorTexts = ({ errors }: Problems, withMessage = false): string[] =>
  errors.map(({ path, reason, message }) =>
    [formatPath(path), reason.slice('FieldValue'.length), ...(withMessage ? [message] : [])].join(' '),
  );

export const fieldsOf = ({ errors }: Problems): string[] => errors.map(({ path }) => formatPath(path));
