import { type UserInfo, field, list, listMap, object, publicationOf, string } from '@cluster-apiserver/model';

export const authentication = { group: 'authentication.k8s.io', version: 'v1' };

export interface WrittenUserInfo {
  username?: string;
  uid?: string;
  groups?: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}

export const userInfo = object(
  {
    username: field(string, 'Name that identifies the user.'),
    uid: field(string, 'Identifier that distinguishes the user from others who had the same name before.'),
    groups: field(list(string, 'atomic'), 'Groups of the user.'),
    extra: field(listMap, 'Further attributes from the authenticator.'),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'UserInfo' }, 'Identity of a user.'),
    numbers: { username: 1, uid: 2, groups: 3, extra: 4 },
  },
);

export const userInfoOf = ({ name, uid, groups, extra }: UserInfo): WrittenUserInfo => ({
  username: name,
  ...(uid !== undefined && { uid }),
  groups,
  ...(extra && { extra }),
});
