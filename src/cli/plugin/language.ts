export const languages = ['typescript', 'python', 'shell'] as const;
export type Language = (typeof languages)[number];
