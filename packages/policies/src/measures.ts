import type { AdmissionContext } from '@cluster-apiserver/gates';

type Operation = AdmissionContext['operation'];

/** Metrics of match conditions, by name of the policy or webhook. */
export interface ConditionMeasures {
  evaluated(name: string, operation: Operation, seconds: number): void;
  /** A condition was false. */
  excluded(name: string, operation: Operation): void;
  /** None was false, and at least one could not be evaluated. */
  failed(name: string, operation: Operation): void;
}

/** Metrics of the policies of one type. */
export interface PolicyMeasures {
  readonly conditions: ConditionMeasures;
  /** An expression was evaluated. Validations that hold are not counted, as in kube-apiserver. */
  checked(policy: string, binding: string, error: CheckError, action: Enforcement, seconds: number): void;
}

/** Why an expression has no value. Named as in kube-apiserver. */
export type CheckError = 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget';

/** The effect on the request. Named as in kube-apiserver. */
export type Enforcement = 'allow' | 'deny' | 'warn' | 'audit';

/** Metrics of the webhooks of one type. */
export interface AdmissionWebhookMeasures {
  readonly conditions: ConditionMeasures;
  /** A webhook was called. The code is 0 for an internal error. */
  called(webhook: string, operation: Operation, isRejected: boolean, code: number, seconds: number): void;
  rejected(webhook: string, operation: Operation, errorType: RejectionErrorType, code: number): void;
  /** A call failed, and the request went on. */
  failedOpen(webhook: string): void;
}

export type RejectionErrorType = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';
