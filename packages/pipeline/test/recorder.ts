import type { AuditRecorder } from '../src/audit.ts';

/** Notes each call in words. */
export const recorder = (note: (line: string) => unknown, wantsResponseObject = false): AuditRecorder => ({
  logRequestReceived: ({ name }) => void note(`user ${name}`),
  logImpersonatedUser: ({ name }, constraint = 'impersonate') => void note(`as ${name} by ${constraint}`),
  annotate: (key, value) => void note(`${key}=${value}`),
  logRequestObject: (object) => void note(`request ${JSON.stringify(object)}`),
  logRequestPatch: (json) => void note(`patch ${json.toString()}`),
  wantsResponseObject,
  logResponseObject: (texts) => void note(`response ${[...texts].join('')}`),
  logResponseStatus: ({ status }) => void note(`response ${status}`),
  logResponse: (code, sentLater) => void note(`status ${code}${sentLater ? ' sent later' : ''}`),
  logFailure: ({ code }, isInternal) => void note(`${isInternal ? 'internal error' : 'status'} ${code}`),
});
