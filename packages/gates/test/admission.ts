import { callUntil } from '@cluster-apiserver/base';
import { defineKind } from '@cluster-apiserver/model/kind';
import type { AdmissionContext } from '../src/index.ts';

const kind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: '',
  fields: {},
  qualifiedFinalizers: false,
  ownsOthers: false,
  deletedAnswer: 'object',
});

/** A write that somebody sends: the creation of a robot, unless it is said otherwise. */
export const contextOf = (write: Partial<AdmissionContext> = {}): AdmissionContext => ({
  operation: 'CREATE',
  resource: kind,
  kind,
  subresource: undefined,
  namespace: 'n',
  name: 'a',
  object: { metadata: { name: 'a' } },
  oldObject: undefined,
  user: { name: 'somebody', groups: [] },
  dryRun: false,
  options: { kind: 'CreateOptions' },
  call: callUntil(0),
  reinvocation: false,
  warn: () => {},
  annotate: () => {},
  ...write,
});
