import type { UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from './authentication/authenticator.ts';
import { mastersGroup } from './authorization/privileged-groups.ts';

/** The user of requests that the server makes to itself: that of the loopback client of kube-apiserver. */
export const serverUser: UserInfo = { name: 'system:apiserver', groups: [authenticatedGroup, mastersGroup] };
