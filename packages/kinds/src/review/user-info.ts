import type { UserInfo } from '@cluster-apiserver/model';
import { field, list, listMap, object, publicationOf, string } from '@cluster-apiserver/model/schema';

export const authentication = { group: 'authentication.k8s.io', version: 'v1' };

export const userInfo = object(
  {
    username: field(1, string, 'Name that identifies the user.'),
    uid: field(2, string, 'Identifier that distinguishes the user from others who had the same name before.'),
    groups: field(3, list(string, 'atomic'), 'Groups of the user.'),
    extra: field(4, listMap, 'Further attributes from the authenticator.'),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'UserInfo' }, 'Identity of a user.'),
  },
);

export const userInfoOf = ({ name, uid, groups, extra }: UserInfo) => ({
  username: name,
  ...(uid !== undefined && { uid }),
  groups,
  ...(extra && { extra }),
});
