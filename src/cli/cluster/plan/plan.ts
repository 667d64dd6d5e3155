import type { ServerOptions } from '../../configuration.js';
import { CliError, exitCodes } from '../../errors.js';
import { reportError } from '../../report-error.js';
import { readSpec } from '../../spec-file.js';
import type { PreviewForm } from './preview.js';

export type PlanOptions = ServerOptions &
  PreviewForm & {
    readonly rolling?: number;
    /** Whether to probe the machines first. */
    readonly look: boolean;
  };

/** Shows what an apply of the file would do. Nothing is changed. */
export async function plan(file: string, options: PlanOptions): Promise<number> {
  try {
    return await show(file, options);
  } catch (error) {
    if (options.detailedExitcode !== true) throw error;
    // Exit code 2 means changes here.
    reportError(error, { json: options.json === true });
    return exitCodes.failed;
  }
}

async function show(file: string, options: PlanOptions): Promise<number> {
  if (options.graph !== undefined && options.json === true)
    throw new CliError('Usage', '--graph and --json cannot both be written to standard output');
  const spec = readSpec(file);
  // A wrong file is reported before the modules for the server are loaded.
  const [{ requireWorker, withSession }, { previewApply, showPreview }] = await Promise.all([
    import('../../session.js'),
    import('./preview.js'),
  ]);
  return withSession(options, async (session) => {
    await requireWorker(session);
    if (options.look) await session.client.look(spec.name);
    const intent = { kind: 'apply', width: options.rolling } as const;
    return showPreview(
      session.output,
      spec.name,
      intent,
      await previewApply(session, spec, file, options),
      options,
    );
  });
}
