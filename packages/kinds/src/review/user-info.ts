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
    username: field(string, 'The name that tells this user from all others.'),
    uid: field(string, 'What tells this user from others who had the name before or will have it.'),
    groups: field(list(string, 'atomic'), 'The groups that the user is a member of.'),
    extra: field(listMap, 'Whatever else the authenticator knows.'),
  },
  {
    publication: publicationOf({ ...authentication, kind: 'UserInfo' }, 'Who somebody is.'),
    numbers: { username: 1, uid: 2, groups: 3, extra: 4 },
  },
);

export const userInfoOf = ({ name, uid, groups, extra }: UserInfo): WrittenUserInfo => ({
  username: name,
  ...(uid !== undefined && { uid }),
  groups,
  ...(extra && { extra }),
});
