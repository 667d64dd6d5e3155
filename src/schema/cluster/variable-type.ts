import type { Json } from '../../model/json.js';

export const variableTypes = ['text', 'number', 'boolean', 'list', 'map'] as const;
export type VariableType = (typeof variableTypes)[number];

export const typeWords: Readonly<Record<VariableType, string>> = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  map: 'a mapping',
};

export function isOfType(value: Json, type: VariableType = 'text'): boolean {
  switch (type) {
    case 'list':
      return Array.isArray(value);
    case 'map':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'text':
      return typeof value === 'string';
    default:
      return typeof value === type;
  }
}
