import { html } from 'hono/html';
import type { Problem } from '../../../schema/problem.js';

/** Escaped HTML. */
export type Markup = ReturnType<typeof html>;

/** A problem as a sentence. */
export function sentenceOf({ wrong, right }: Problem): string {
  return right === undefined ? wrong : `${wrong.replace(/[.;]$/, '')}. ${right}`;
}

/** A whole document. */
export function page(content: Markup, base: string): Markup {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Heddle: provider accounts</title>
<link rel="stylesheet" href="${base}/page.css"><script src="${base}/page.js" defer></script></head>
<body>${content}</body></html>
`;
}
