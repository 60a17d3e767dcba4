import type { AdmissionContext } from '@cluster-apiserver/gates';

type Operation = AdmissionContext['operation'];

/** What is counted of the webhooks of one kind. */
export interface AdmissionWebhookMeasures {
  /** A webhook was called. The code is 0 for an internal error. */
  called(webhook: string, operation: Operation, isRejected: boolean, code: number, seconds: number): void;
  rejected(webhook: string, operation: Operation, errorType: RejectionErrorType, code: number): void;
  /** A call failed, and the request went on. */
  failedOpen(webhook: string): void;
  readonly conditions: {
    evaluated(webhook: string, operation: Operation, seconds: number): void;
    excluded(webhook: string, operation: Operation): void;
    failed(webhook: string, operation: Operation): void;
  };
}

export type RejectionErrorType = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';
