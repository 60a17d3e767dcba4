import type { AuditRecorder } from '../src/audit.ts';

/** Notes each call in words. */
export const recorder = (note: (line: string) => void, wantsResponseObject = false): AuditRecorder => ({
  received: ({ name }) => void note(`user ${name}`),
  impersonatedUser: ({ name }, constraint = 'impersonate') => note(`as ${name} by ${constraint}`),
  annotate: (key, value) => note(`${key}=${value}`),
  requestObject: (object) => note(`request ${JSON.stringify(object)}`),
  requestPatch: (json) => note(`patch ${json.toString()}`),
  wantsResponseObject,
  responseObject: (texts) => note(`response ${[...texts].join('')}`),
  responseStatus: ({ status }) => note(`response ${status}`),
  responded: (code, sentLater) => void note(`status ${code}${sentLater ? ' sent later' : ''}`),
  failed: ({ code }, isInternal) => void note(`${isInternal ? 'internal error' : 'status'} ${code}`),
});
