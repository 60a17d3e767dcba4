import type { AuditRecorder } from '../src/audit.ts';

/** Notes each call in words. */
export const recorder = (note: (line: string) => unknown, wantsResponseObject = false): AuditRecorder => ({
  received: ({ name }) => void note(`user ${name}`),
  impersonatedUser: ({ name }, constraint = 'impersonate') => void note(`as ${name} by ${constraint}`),
  annotate: (key, value) => void note(`${key}=${value}`),
  requestObject: (object) => void note(`request ${JSON.stringify(object)}`),
  requestPatch: (json) => void note(`patch ${json.toString()}`),
  wantsResponseObject,
  responseObject: (texts) => void note(`response ${[...texts].join('')}`),
  responseStatus: ({ status }) => void note(`response ${status}`),
  responded: (code, sentLater) => void note(`status ${code}${sentLater ? ' sent later' : ''}`),
  failed: ({ code }, isInternal) => void note(`${isInternal ? 'internal error' : 'status'} ${code}`),
});
