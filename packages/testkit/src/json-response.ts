import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { KubeObject, ObjectMeta } from '@cluster-apiserver/model/kind';

export interface JsonResponse<Body extends KubeObject = ResponseBody> {
  readonly status: number;
  readonly warnings: readonly string[];
  readonly body: Body;
}

/** An object, a list or a Status. */
export interface ResponseBody extends KubeObject {
  readonly metadata: Omit<ObjectMeta, 'managedFields'> & {
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly managedFields?: {
      readonly manager: string;
      readonly apiVersion: string;
      readonly time?: string;
      readonly fieldsV1: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly message: string; readonly field?: string }[];
    readonly retryAfterSeconds?: number;
  };
  readonly items?: readonly ResponseBody[];
}

export const readJson = async (response: IncomingMessage): Promise<JsonResponse> => ({
  status: response.statusCode ?? 0,
  warnings: response.headersDistinct.warning ?? [],
  body: JSON.parse(await text(response)),
});
