import type { Outputs } from '../../model/cluster/outputs.js';
import type { OutputDocument, OutputsDocument } from '../../schema/output/documents.js';
import { suggest } from '../../schema/suggest.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { clusterVerb } from './cluster-verb.js';
import { rowsOf, textOf, withoutSecrets } from './output-text.js';

type Answer = { readonly cluster: string; readonly outputs: Outputs } | OutputDocument;

/** The outputs of a cluster; the value of one that is named, even if it is secret. */
export const output = clusterVerb(
  async ({ client }, cluster, key: string | undefined, _options: ServerOptions): Promise<Answer> => {
    const outputs = await client.outputs(cluster);
    if (key === undefined) return { cluster, outputs };
    const found = Object.hasOwn(outputs, key) ? outputs[key] : undefined;
    if (found !== undefined && 'value' in found) return { cluster, output: key, value: found.value };
    const why =
      found === undefined ? (suggest(key, Object.keys(outputs)) ?? '') : `It has no value: ${found.missing}.`;
    throw new CliError(
      'NotFound',
      `cluster ${cluster} has no output ${JSON.stringify(key)} at present. ${why}`,
      { next: `heddle output ${cluster}` },
    );
  },
  {
    document: (answer): OutputsDocument | OutputDocument =>
      'value' in answer ? answer : { cluster: answer.cluster, outputs: withoutSecrets(answer.outputs) },
    print: (screen, answer) => {
      if ('value' in answer) screen.lines(textOf(answer.value));
      else if (Object.keys(answer.outputs).length === 0)
        screen.lines(`cluster ${answer.cluster} has no outputs`);
      else screen.table(['OUTPUT', 'VALUE'], rowsOf(withoutSecrets(answer.outputs)));
    },
  },
);
