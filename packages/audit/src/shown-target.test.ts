import { expect, test } from '@jest/globals';
import { auditedTarget, shownTarget } from './shown-target.ts';

test.each([
  ['/api/v1/pods', '/api/v1/pods'],
  ['/api/v1/pods?', '/api/v1/pods?'],
  ['/api/v1/pods?limit=500&continue=abc', '/api/v1/pods?limit=500&continue=abc'],
  ['/api/v1/pods?watch&labelSelector=a%3Db%3Dc', '/api/v1/pods?watch&labelSelector=a%3Db%3Dc'],
  ['/x?token=hush', '/x?token=[hidden]'],
  ['/x?access_token=hush&watch=1', '/x?access_token=[hidden]&watch=1'],
  ['/x?Limit=1&limit=1', '/x?Limit=[hidden]&limit=1'],
  ['/x?hush', '/x?[hidden]'],
  ['/x?token=a=b?c&limit=1', '/x?token=[hidden]&limit=1'],
  ['/x?lim%69t=hush', '/x?lim%69t=[hidden]'],
  ['/x?&&limit=1&', '/x?&&limit=1&'],
  ['/x?=hush', '/x?=[hidden]'],
])('the shown form of %s is %s', (target, shown) => {
  expect(shownTarget(target)).toBe(shown);
});

test.each([
  ['/api/v1/pods', '/api/v1/pods'],
  ['/x?after=1&watch&limit=2&=a&', '/x?after=1&watch&limit=2&=a&'],
  ['/x?access_token=hush&limit=1', '/x?access_token=[hidden]&limit=1'],
  ['/x?Access%5FToken=hush', '/x?Access%5FToken=[hidden]'],
  ['/x?id_token=a=b?c', '/x?id_token=[hidden]'],
  ['/x?client_secret=hush&password=hush&api_key=hush', '/x?client_secret=[hidden]&password=[hidden]&api_key=[hidden]'],
  ['/x?%zz=hush&dryRun=%zz', '/x?%zz=[hidden]&dryRun=%zz'],
])('the audited form of %s is %s', (target, shown) => {
  expect(auditedTarget(target)).toBe(shown);
});
