import { decode, type ObjectSchema, WrongTypeError } from '@cluster-apiserver/model/schema';

/** A webhook returned no usable response. The message contains nothing of the request. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** Throws a WebhookError for a value of another type. */
export function decodeAnswer<Value>(schema: ObjectSchema<Value>, answer: unknown): Value {
  try {
    return decode(schema, answer, () => {});
  } catch (error) {
    if (error instanceof WrongTypeError) throw new WebhookError(error.message);
    throw error;
  }
}
