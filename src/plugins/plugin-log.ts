import type { JsonObject } from '../model/json.js';

export interface PluginLog {
  debug(message: string, attributes?: JsonObject): void;
  info(message: string, attributes?: JsonObject): void;
  warn(message: string, attributes?: JsonObject): void;
  error(message: string, attributes?: JsonObject): void;
}
