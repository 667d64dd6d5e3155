import { expect, it } from 'vitest';
import { compilePrograms } from '../harness/docs/programs.js';

it('every program in the documents compiles under strict against the built package', () => {
  const programs = compilePrograms('README.md', 'docs/guides/embedding.md');
  programs.remove();
  expect(programs.folder).toContain('.programs-');
});
