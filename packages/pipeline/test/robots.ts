/** Kinds with a subresource, another version and validation. */
import { requireValue } from '@cluster-apiserver/base';
import {
  defineKind,
  defineSubresource,
  type FieldSubresource,
  type Kind,
  type VersionDeclaration,
  type KubeObject,
} from '@cluster-apiserver/model/kind';
import { field, jsonField, int32, object, stringMap } from '@cluster-apiserver/model/schema';
import { pathSegmentNames } from '@cluster-apiserver/model/validation';

/** Returns its request and the UID of the object. */
export const token = defineSubresource({
  name: 'token',
  group: 'tokens.example',
  version: 'v3',
  kind: 'Token',
  description: 'For these tests.',
  fields: { spec: field(2, object({ words: field(1, stringMap, '') }), '', 'always') },
  requiredFields: [],
  create: async ({ metadata }, request, { warn }) => {
    warn('think twice');
    return { ...request, spec: { words: { ...request.spec.words, of: metadata.uid ?? '' } } };
  },
});

/** Robots with other field names and validation of their own. */
const machines: VersionDeclaration<KubeObject> = {
  group: 'machines.example',
  version: 'v2',
  description: 'For these tests.',
  fields: { limbs: field(3, int32, ''), words: field(2, stringMap, '') },
  renamed: { limbs: 'arms' },
  selectableFields: { limbs: 'arms' },
  validate: (object, current, problems) => {
    const [arms, before] = [object, current].map((one) => Number(one?.['arms'] ?? 0));
    if (Number(arms) < 0) problems.at('arms').invalid(arms, 'must not be negative');
    if (current && Number(arms) < Number(before)) problems.at('arms').invalid(arms, 'must not become less');
  },
};

/** Shows the arms as words. */
const scale: FieldSubresource = {
  name: 'scale',
  verbs: ['get', 'patch', 'update'],
  fields: ['arms'],
  givenOnCreate: true,
  keepsMetadata: true,
  projection: {
    form: token,
    project: ({ metadata, ...rest }) => ({
      kind: token.kind,
      apiVersion: token.apiVersion,
      metadata: { ...(metadata.name !== undefined && { name: metadata.name }) },
      spec: { words: { arms: String(rest['arms'] ?? 0) } },
    }),
    isComplete: () => true,
    fieldsOf: () => ({ arms: 7 }),
    change: (object) => ({ ...object, arms: 8 }),
  },
};

const kind = (group: string, plural: string, otherVersions: readonly VersionDeclaration<KubeObject>[] = []): Kind =>
  defineKind({
    group,
    version: 'v1',
    kind: plural === 'robots' ? 'Robot' : 'Note',
    plural,
    singular: plural.slice(0, -1),
    shortNames: [],
    description: 'For these tests.',
    fields:
      plural === 'robots'
        ? { arms: field(2, int32, ''), words: field(3, stringMap, '') }
        : { arms: jsonField(int32, ''), words: jsonField(stringMap, '') },
    names: pathSegmentNames,
    qualifiedFinalizers: false,
    createOnUpdate: plural === 'notes',
    deletedCollectionAnswer: plural === 'notes' ? 'list' : 'status',
    ownsOthers: true,
    deletedAnswer: 'object',
    subresources: [token],
    fieldSubresources: plural === 'robots' ? [scale] : [],
    otherVersions,
    selectableFields: { arms: (object) => String(object['arms'] ?? 0) },
    unknownSelectorField: (name) => name,
  });

export const robotKind = kind('', 'robots', [machines]);
/** The same without the other version. */
export const robotKindAlone = kind('', 'robots');
export const machineVersion = requireValue(robotKind.versions[1]);
export const noteKind = kind('notes.example', 'notes');
