/** `heddle/plugin`: what plugins are written with. */
export * from './contract.js';
export { halfMade, type Part } from './provider-base/half-made.js';
export { hasTags } from './provider-base/machines.js';
export { JsonApi, textIn, type JsonApiOptions, type JsonResponse } from './provider-base/json-api.js';
export { notReady, requireRunning, type SeenMachine } from './provider-base/confirm.js';
export { placeOf } from './provider-base/places.js';
export {
  retryAfter,
  sendRequest,
  type HttpContext,
  type HttpRequest,
  type HttpResponse,
} from './provider-base/http.js';
