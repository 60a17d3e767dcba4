import { CertificateRequestError, readCertificateRequest } from '@cluster-apiserver/certificates';
import { formatTime, type Problems, type UserInfo } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { ageColumn, defineKind, formatAge, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import {
  bytes,
  decodeBase64,
  field,
  int32,
  list,
  listMap,
  object,
  publicationOf,
  string,
  time,
  type ValueOf,
} from '@cluster-apiserver/model/schema';
import { pathSegmentNames } from '@cluster-apiserver/model/validation';
import { validateCertificates } from './certificates.ts';
import { keyUsages } from './key-usages.ts';
import { legacySignerName, validateSignerName } from './signer-name.ts';

const certificates = { group: 'certificates.k8s.io', version: 'v1' };

const specSchema = object(
  {
    request: field(1, bytes, 'The request in PEM, as base64 in JSON and YAML.', 'nullIfEmpty'),
    signerName: field(7, string, 'Requested signer, such as `kubernetes.io/kube-apiserver-client`.', 'always'),
    expirationSeconds: field(8, int32, 'Requested validity of the certificate in seconds; at least 600.', 'given'),
    usages: field(5, list(string, 'atomic'), 'Permitted uses of the key.'),
    username: field(2, string, 'Name of the requesting user; set by the server.'),
    uid: field(3, string, 'UID of the requesting user; set by the server.'),
    groups: field(4, list(string, 'atomic'), 'Groups of the requesting user; set by the server.'),
    extra: field(6, listMap, 'Further attributes of the requesting user; set by the server.'),
  },
  {
    publication: publicationOf(
      { ...certificates, kind: 'CertificateSigningRequestSpec' },
      'A request for a certificate, with the requesting user. It cannot be changed.',
      ['request', 'signerName'],
    ),
  },
);

const conditionSchema = object(
  {
    type: field(1, string, 'Approved, Denied, Failed, or another type.', 'always'),
    status: field(6, string, 'True, False or Unknown; the three types that are known are always True.', 'always'),
    reason: field(2, string, 'Why, in one word.'),
    message: field(3, string, 'Why, for people.'),
    lastUpdateTime: field(4, time, 'Time of the last write of the condition.', 'always'),
    lastTransitionTime: field(5, time, 'Time of the last change of the status.', 'always'),
  },
  {
    publication: publicationOf(
      { ...certificates, kind: 'CertificateSigningRequestCondition' },
      'A decision about a request, or another fact.',
      ['type', 'status'],
    ),
  },
);

type Condition = ValueOf<typeof conditionSchema>;

const statusSchema = object(
  {
    conditions: field(
      1,
      list(conditionSchema, { keys: ['type'], isReplacedByPatch: true }),
      'Decisions about the request. Approved and Denied are written through the subresource approval.',
    ),
    certificate: field(2, bytes, 'The certificates in PEM, as base64 in JSON and YAML, once it is signed.'),
  },
  {
    publication: publicationOf(
      { ...certificates, kind: 'CertificateSigningRequestStatus' },
      'Decision about the request, and the certificate.',
    ),
  },
);

const fields = {
  spec: field(2, specSchema, 'The request.', 'always'),
  status: field(3, statusSchema, 'Decision about the request, and the certificate.', 'always'),
};

export type CertificateSigningRequest = ObjectOf<typeof fields>;

const subresource = {
  verbs: ['get', 'patch', 'update'],
  fields: ['status'],
  givenOnCreate: false,
  keepsMetadata: false,
} as const;

/** Asks a signer for a certificate. */
export const certificateSigningRequest = defineKind({
  ...certificates,
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  shortNames: ['csr'],
  namespaced: false,
  description: 'Asks a signer for a certificate. Another user approves or denies it.',
  fields,
  requiredFields: ['spec'],
  names: pathSegmentNames,
  fixedFields: ['spec'],
  fieldSubresources: [
    { ...subresource, name: 'approval', unowned: [['status', 'certificate']] },
    { ...subresource, name: 'status', unowned: [['status', 'conditions']] },
  ],
  prepare: (written, current, { user, subresource: name, nowMs }) => {
    if (!current) return { ...written, spec: { ...written.spec, ...requesterOf(user) }, status: {} };
    if (name === undefined) return written;
    const conditions = withTimes(
      name === 'status' ? withStoredDecisions(written.status.conditions, current) : (written.status.conditions ?? []),
      current,
      formatTime(nowMs),
    );
    return { ...written, status: { ...(name === 'status' ? written : current).status, conditions } };
  },
  validate: (written, current, problems, { subresource: name }) => {
    if (!current) validateSpec(written.spec, problems.at('spec'));
    const { conditions = [], certificate = '' } = written.status;
    validateConditions(conditions, problems.at('status', 'conditions'));
    if (!current) return;
    validateKept(conditions, current, name === 'approval', problems.at('status', 'conditions'));
    if (certificate === (current.status.certificate ?? '')) return;
    validateCertificates(certificate, problems.at('status', 'certificate'));
    if (current.status.certificate)
      problems.at('status', 'certificate').forbidden('updates may not modify existing certificate content');
  },
  columns: [
    nameColumn,
    ageColumn,
    { name: 'SignerName', description: 'Requested signer.', value: ({ spec }) => spec.signerName || '<none>' },
    { name: 'Requestor', description: 'Name of the requesting user.', value: ({ spec }) => spec.username ?? '' },
    {
      name: 'RequestedDuration',
      description: 'Requested validity of the certificate.',
      value: ({ spec: { expirationSeconds } }) =>
        expirationSeconds === undefined ? '<none>' : formatAge(formatTime(0), expirationSeconds * 1000),
    },
    { name: 'Condition', description: 'Decision about the request.', value: ({ status }) => formatState(status) },
  ],
  selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName },
  unknownSelectorField: (name) => `field label not supported: ${name}`,
});

/** Whatever the request says about who asks is replaced. */
const requesterOf = (user: UserInfo | undefined) => ({
  username: user?.name ?? '',
  uid: user?.uid ?? '',
  groups: [...(user?.groups ?? [])],
  extra: Object.fromEntries(Object.entries(user?.extra ?? {}).map(([key, values]) => [key, [...values]])),
});

type Status = CertificateSigningRequest['status'];

const ofType = (conditions: readonly Condition[] | undefined, type: string): readonly Condition[] =>
  (conditions ?? []).filter((condition) => condition.type === type);

const decisions = ['Approved', 'Denied'] as const;

/** A write of the status leaves decisions as they are, unless it adds or removes one, which validation forbids. */
function withStoredDecisions(
  written: readonly Condition[] = [],
  { status }: CertificateSigningRequest,
): readonly Condition[] {
  return decisions.reduce((conditions, type) => {
    const stored = ofType(status.conditions, type);
    if (ofType(conditions, type).length !== stored.length) return conditions;
    const next = stored.values();
    return conditions.map((condition) => (condition.type === type ? (next.next().value ?? condition) : condition));
  }, written);
}

function withTimes(conditions: readonly Condition[], current: CertificateSigningRequest, now: string): Condition[] {
  return conditions.map((condition) => {
    const { type, status, lastUpdateTime, lastTransitionTime } = condition;
    const same = ofType(current.status.conditions, type).find((before) => before.status === status);
    return {
      ...condition,
      lastUpdateTime: lastUpdateTime ?? now,
      lastTransitionTime: lastTransitionTime ?? same?.lastTransitionTime ?? now,
    };
  });
}

function validateSpec(spec: CertificateSigningRequest['spec'], problems: Problems): void {
  const problem = findRequestProblem(spec.request ?? '');
  if (problem !== undefined) problems.at('request').invalid(spec.request, problem);
  const { usages = [], signerName, expirationSeconds } = spec;
  const at = problems.at('usages');
  if (usages.length === 0) at.required();
  at.each(usages, (usage, place) => place.oneOf(usage, keyUsages));
  const seen = new Set<string>();
  at.each(usages, (usage, place) => {
    if (seen.has(usage)) place.duplicate(usage);
    seen.add(usage);
  });
  if (signerName === legacySignerName)
    problems.at('signerName').invalid(signerName, 'the legacy signerName is not allowed via this API version');
  else validateSignerName(signerName, problems.at('signerName'));
  if (expirationSeconds !== undefined && expirationSeconds < 600)
    problems
      .at('expirationSeconds')
      .invalid(expirationSeconds, 'may not specify a duration less than 600 seconds (10 minutes)');
}

/** The first block counts, whatever comes after it. */
function findRequestProblem(request: string): string | undefined {
  try {
    readCertificateRequest((decodeBase64(request) ?? Buffer.alloc(0)).toString('latin1'));
    return undefined;
  } catch (error) {
    if (error instanceof CertificateRequestError) return error.message;
    throw error;
  }
}

const alwaysTrue: readonly string[] = [...decisions, 'Failed'];

function validateConditions(conditions: readonly Condition[], problems: Problems): void {
  const seen = new Set<string>();
  problems.each(conditions, ({ type, status }, at) => {
    if (type === '') at.at('type').required();
    if (status === '') at.at('status').required();
    else at.at('status').oneOf(status, alwaysTrue.includes(type) ? ['True'] : ['False', 'True', 'Unknown']);
    if ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved')))
      problems.invalid(type, 'Approved and Denied conditions are mutually exclusive');
    if (seen.has(type)) at.at('type').duplicate(type);
    seen.add(type);
  });
}

/** What was decided stays. Only those who may approve decide. */
function validateKept(
  conditions: readonly Condition[],
  { status }: CertificateSigningRequest,
  mayDecide: boolean,
  problems: Problems,
): void {
  for (const type of alwaysTrue)
    if (ofType(conditions, type).length < ofType(status.conditions, type).length)
      problems.forbidden(`updates may not remove a condition of type "${type}"`);
  if (mayDecide) return;
  for (const type of decisions) {
    const [before, after] = [ofType(status.conditions, type), ofType(conditions, type)];
    if (after.length > before.length) problems.forbidden(`updates may not add a condition of type "${type}"`);
    else if (after.length === before.length && !sameJson(before, after))
      problems.forbidden(`updates may not modify a condition of type "${type}"`);
  }
}

function formatState({ conditions = [], certificate }: Status): string {
  const is = (type: string): boolean => ofType(conditions, type).length > 0;
  const decision = is('Denied') ? 'Denied' : is('Approved') ? 'Approved' : 'Pending';
  return `${decision}${is('Failed') ? ',Failed' : ''}${certificate ? ',Issued' : ''}`;
}
