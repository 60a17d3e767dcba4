import { boolean, field, list, object, string } from '@cluster-apiserver/model/schema';

/** The messages of discovery documents. None is published: OpenAPI describes what they list. */

const texts = list(string, 'atomic');

const groupVersion = object(
  {
    groupVersion: field(1, string, 'Group and version.'),
    version: field(2, string, 'The version alone.'),
  },
  {},
);
const groupFields = {
  name: field(1, string, 'Name of the group.'),
  versions: field(2, list(groupVersion, 'atomic'), 'The versions, the preferred one first.'),
  preferredVersion: field(3, groupVersion, 'The preferred version.'),
};
const resource = object(
  {
    name: field(1, string, 'Plural name, with that of a subresource.'),
    namespaced: field(2, boolean, 'Whether objects are in namespaces.'),
    kind: field(3, string, 'Kind of the objects.'),
    // In JSON these are a list.
    verbs: field(4, object({ items: field(1, texts, 'The verbs.') }, {}), 'Verbs of the API.'),
    shortNames: field(5, texts, 'Short names.'),
    singularName: field(6, string, 'Singular name.'),
    categories: field(7, texts, 'Groups of resources that it belongs to.'),
    group: field(8, string, 'Group of the kind, if it is another one.'),
    version: field(9, string, 'Version of the kind, if it is another one.'),
    storageVersionHash: field(10, string, 'Changes with the stored version.'),
  },
  {},
);

/** By the kind of the document. */
export const documentSchemas = {
  APIVersions: object({ versions: field(1, texts, 'The versions.') }, {}),
  APIGroupList: object({ groups: field(1, list(object(groupFields, {}), 'atomic'), 'The groups.') }, {}),
  APIGroup: object(groupFields, {}),
  APIResourceList: object(
    {
      groupVersion: field(1, string, 'Group and version.'),
      resources: field(2, list(resource, 'atomic'), 'The resources.'),
    },
    {},
  ),
};

const kind = object(
  {
    group: field(1, string, 'Group.'),
    version: field(2, string, 'Version.'),
    kind: field(3, string, 'Kind.'),
  },
  {},
);
const discoveredSubresource = object(
  {
    subresource: field(1, string, 'Name.'),
    responseKind: field(2, kind, 'Kind of the answers.'),
    verbs: field(4, texts, 'Verbs of the API.'),
  },
  {},
);
const discoveredResource = object(
  {
    resource: field(1, string, 'Plural name.'),
    responseKind: field(2, kind, 'Kind of the answers.'),
    scope: field(3, string, 'Cluster or Namespaced.'),
    singularResource: field(4, string, 'Singular name.'),
    verbs: field(5, texts, 'Verbs of the API.'),
    shortNames: field(6, texts, 'Short names.'),
    categories: field(7, texts, 'Groups of resources that it belongs to.'),
    subresources: field(8, list(discoveredSubresource, 'atomic'), 'The subresources.'),
  },
  {},
);
const discoveredVersion = object(
  {
    version: field(1, string, 'Name.'),
    resources: field(2, list(discoveredResource, 'atomic'), 'The resources.'),
    freshness: field(3, string, 'Current.'),
  },
  {},
);
const discoveredGroup = object(
  {
    metadata: field(1, object({ name: field(1, string, 'Name of the group.') }, {}), 'The name.'),
    versions: field(2, list(discoveredVersion, 'atomic'), 'The versions, the preferred one first.'),
  },
  {},
);

/** All groups in one document. */
export const aggregatedSchema = object({ items: field(2, list(discoveredGroup, 'atomic'), 'The groups.') }, {});
