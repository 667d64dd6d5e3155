import { Argument, Option, type Command } from 'commander';
import { languages } from './plugin/language.js';
import { withCommonOptions, type Run } from './options.js';

/** Verbs about plugins: what there is, one tried by hand, a new one. */
export function addPluginVerbs(program: Command, run: Run): void {
  const plugins = withCommonOptions(
    program
      .command('plugins')
      .alias('plugin')
      .summary('the plugins that a worker has')
      .description('the plugins that a worker has with this configuration'),
    'configuration',
  )
    // Else the options of `show` and the others would be taken for those of `plugins`, and never reach them.
    .enablePositionalOptions()
    .action((options) => run(async () => (await import('./plugin/list.js')).list(options)));

  withCommonOptions(
    plugins
      .command('show <name>')
      .description('a plugin, and the fields that people fill in')
      .option('--schema', 'JSON Schema of its fields'),
    'configuration',
  ).action((name, options) => run(async () => (await import('./plugin/list.js')).show(name, options)));

  withCommonOptions(
    plugins
      .command('run <name> <task>')
      .description('carry out one task of a file by a plugin, and print its result; - reads standard input'),
    'configuration',
  ).action((name, file, options) =>
    run(async () => (await import('./plugin/run.js')).runTask(name, file, options)),
  );

  withCommonOptions(
    plugins
      .command('new')
      .description('begin a plugin in this folder, with a test that passes')
      .addArgument(new Argument('<type>', 'what it is').choices(['provider', 'automator']))
      .argument('<name>', 'what clusters call it')
      .addOption(
        new Option(
          '--language <language>',
          'what it is written in: python for providers, shell for automators',
        )
          .choices(languages)
          .default('typescript'),
      ),
    'configuration',
  ).action((type, name, options) =>
    run(async () => (await import('./plugin/new.js')).create(type, name, options)),
  );
}
