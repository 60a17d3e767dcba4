import type { CleanupStack } from '@cluster-apiserver/base';
import type { Files } from '../environment.ts';
import { type FlagFile, readFlagFile, withFlagErrors } from './flag-files.ts';
import { type FileObservers, type FileSource, type Followed, followFiles } from './follow-files.ts';
import { createReloadMeasures, type ReloadIdentity } from './reload-measures.ts';

/** A configuration file that is reloaded as in kube-apiserver, with its metrics. */
export interface ConfigurationSource<Value> extends Pick<FileSource<Buffer, Value>, 'accept' | 'retire' | 'reloads'> {
  readonly file: FlagFile;
  /** For metrics and the log. */
  readonly name: 'encryption' | 'authentication' | 'authorization' | 'abac_policy' | 'audit_policy';
  readonly kind: string;
  /** Throws a ConfigurationError for invalid content. */
  readonly build: (content: string, cleanup: CleanupStack) => Value | Promise<Value>;
}

export async function followConfiguration<Value>(
  { file, name, kind, build, ...source }: ConfigurationSource<Value>,
  context: FileObservers & ReloadIdentity & { readonly environment: { readonly files: Files } },
  cleanup: CleanupStack,
): Promise<Followed<Value>> {
  const names = { prefix: `apiserver_${name}_config_controller`, what: `the ${name} configuration` };
  const followed = await followFiles(
    {
      ...source,
      name,
      files: [{ ...file, kind }],
      read: () => readFlagFile(file, context.environment.files),
      bytesOf: (content) => [content],
      build: (content, opened) => withFlagErrors(file.flag, () => build(content.toString(), opened)),
      measures: source.reloads === false ? undefined : createReloadMeasures(names, context)({}),
    },
    context,
  );
  cleanup.defer(`--${file.flag}`, followed.close);
  return followed;
}
