import { describe, expect, test } from '@jest/globals';
import type { AccessDecision, AccessAttributes } from '@cluster-apiserver/model';
import type { KubeObject, OwnerReference } from '@cluster-apiserver/model/kind';
import { contextOf } from '../../test/admission.ts';
import type { AdmissionContext } from './admission.ts';
import { createOwnerReferencesPermissionEnforcement } from './owner-references.ts';

const owner = (uid: string, more: object = {}): OwnerReference => ({
  apiVersion: 'example.com/v1',
  kind: 'Owner',
  name: `owner-${uid}`,
  uid,
  ...more,
});
const blocking = (uid: string, more: object = {}): OwnerReference => owner(uid, { blockOwnerDeletion: true, ...more });
const owned = (...ownerReferences: OwnerReference[]): KubeObject => ({ metadata: { name: 'a', ownerReferences } });
const update = (before: KubeObject, after: KubeObject, more: object = {}): Partial<AdmissionContext> => ({
  operation: 'UPDATE',
  object: after,
  oldObject: before,
  ...more,
});

/** Each right as text: the verb, the resource with its group and subresource, the namespace and the name. */
const textOf = ({ verb, resource }: AccessAttributes): string => {
  const { group, resource: plural, subresource, namespace = '-', name = '' } = resource ?? { group: '', resource: '' };
  return `${verb} ${plural}${subresource ? `/${subresource}` : ''}.${group} ${namespace}/${name}`;
};

/** The rights that were asked about, and how it ended. */
async function check(
  write: Partial<AdmissionContext>,
  rights: readonly string[] = [],
  otherwise: AccessDecision = { verdict: 'noOpinion' },
): Promise<{ readonly asked: readonly string[]; readonly refusal: string | undefined }> {
  const asked: string[] = [];
  const { validate } = createOwnerReferencesPermissionEnforcement({
    authorizer: {
      authorize: (question) => {
        asked.push(textOf(question));
        return rights.includes(textOf(question)) ? { verdict: 'allow' } : otherwise;
      },
    },
    resourceOf: (apiVersion, kind) =>
      apiVersion === 'example.com/v1' && ['Owner', 'Realm'].includes(kind)
        ? { group: 'example.com', version: 'v1', plural: `${kind.toLowerCase()}s`, namespaced: kind === 'Owner' }
        : undefined,
  });
  try {
    await validate?.(contextOf(write));
    return { asked, refusal: undefined };
  } catch (error) {
    return { asked, refusal: (error as Error).message };
  }
}

const remove = 'delete robots. n/a';
const finalizeAll = 'update */finalizers.* -/*';
const finalize = (uid: string): string => `update owners/finalizers.example.com n/owner-${uid}`;
const noDeletion = `robots "a" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>`;
const noFinalizers =
  'robots "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t set finalizers on: , <nil>';

describe('changing owners needs rights', () => {
  test.each<[string, Partial<AdmissionContext>, readonly string[], readonly string[], string | undefined]>([
    ['no owners are no question', { object: owned() }, [], [], undefined],
    ['a creation may name owners', { object: owned(owner('1')) }, [], [], undefined],
    ['the same owners are no question', update(owned(blocking('1')), owned(blocking('1'))), [], [], undefined],
    [
      'a deletion is not checked',
      { operation: 'DELETE', object: undefined, oldObject: owned(owner('1')) },
      [],
      [],
      undefined,
    ],
    ['an owner more', update(owned(), owned(owner('1'))), [], [remove], noDeletion],
    ['an owner less', update(owned(owner('1')), owned()), [], [remove], noDeletion],
    [
      'owners in another order',
      update(owned(owner('1'), owner('2')), owned(owner('2'), owner('1'))),
      [],
      [remove],
      noDeletion,
    ],
    ['an owner more, by one who may delete', update(owned(), owned(owner('1'))), [remove], [remove], undefined],
    [
      'an owner through a subresource',
      update(owned(), owned(owner('1')), { subresource: 'status' }),
      [remove],
      ['delete robots/status. n/a'],
      noDeletion,
    ],
    [
      'an owner that is blocked from the beginning',
      { object: owned(blocking('1')) },
      [],
      [finalizeAll, finalize('1')],
      noFinalizers,
    ],
    [
      'a blocked owner, by one who may finalize all',
      { object: owned(blocking('1')) },
      [finalizeAll],
      [finalizeAll],
      undefined,
    ],
    [
      'two blocked owners, with rights for one of them',
      { object: owned(blocking('1'), blocking('2')) },
      [finalize('1')],
      [finalizeAll, finalize('1'), finalize('2')],
      noFinalizers,
    ],
    [
      'an owner that becomes blocked',
      update(owned(owner('1')), owned(blocking('1'))),
      [remove, finalize('1')],
      [remove, finalizeAll, finalize('1')],
      undefined,
    ],
    [
      'another owner beside one that was blocked before',
      update(owned(blocking('1')), owned(blocking('1'), owner('2'))),
      [remove],
      [remove],
      undefined,
    ],
    [
      'a cluster-scoped owner',
      { object: owned(blocking('1', { kind: 'Realm' })) },
      [],
      [finalizeAll, 'update realms/finalizers.example.com -/owner-1'],
      noFinalizers,
    ],
    [
      'an owner of a kind that is not served',
      { object: owned(blocking('1', { apiVersion: 'apps/v1', kind: 'Deployment' })) },
      [],
      [finalizeAll],
      'robots "a" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion apps/v1 Kind Deployment: no matches for kind "Deployment" in version "apps/v1"',
    ],
  ])('%s', async (_, write, rights, asked, refusal) => {
    expect(await check(write, rights)).toEqual({ asked, refusal });
  });

  test('a refusal gives the reason', async () => {
    const { refusal } = await check(update(owned(), owned(owner('1'))), [], {
      verdict: 'deny',
      reason: 'no',
      error: new Error('broken'),
    });
    expect(refusal).toContain("a resource you can't delete: no, broken");
  });

  test('as long as rights cannot be decided, the client is asked to retry', async () => {
    const { refusal } = await check(update(owned(), owned(owner('1'))), [], { verdict: 'notReady' });
    expect(refusal).toContain('not ready to authorize');
  });
});
