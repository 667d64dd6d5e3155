import { excess, isNothing, amountsText } from '../../model/pool/amounts.js';
import type { ProviderPoolSpec } from '../../model/pool/spec.js';
import { errorAt, type Path, type Problem } from '../problem.js';
import { suggest } from '../suggest.js';
import { longestName, type PoolSpec } from './spec.js';

/**
 * Checks references of a pool: that every label is served, and that every served label is declared. Pure.
 */
export function checkPool(spec: PoolSpec, at: Path): readonly Problem[] {
  return [
    ...checkName(spec, at),
    ...checkLabels(spec, at),
    ...Object.entries(spec.providerPools).flatMap(([name, provider]) =>
      checkProviderPool(spec, provider, [...at, 'providerPools', name]),
    ),
  ];
}

function checkName({ name, labels }: PoolSpec, at: Path): readonly Problem[] {
  return Object.keys(labels).flatMap((label) => {
    const length = `${name}-${label}`.length;
    return length <= longestName
      ? []
      : [
          errorAt(
            [...at, 'labels', label],
            `hostnames <pool>-<label>-<number> would have ${length} characters before the number; the limit is ${longestName}`,
            `Shorten the name of the pool or of the label by ${length - longestName}.`,
          ),
        ];
  });
}

function checkLabels({ labels, providerPools }: PoolSpec, at: Path): readonly Problem[] {
  return Object.entries(labels).flatMap(([label, { onReturn, cleanUp }]) => {
    const served = Object.values(providerPools).some((provider) => Object.hasOwn(provider.labels, label));
    return [
      ...(served
        ? []
        : [
            errorAt(
              [...at, 'labels', label],
              'no provider pool serves this label',
              'Add it under providerPools.<name>.labels, or remove it.',
            ),
          ]),
      ...(cleanUp !== undefined && onReturn === 'delete'
        ? [
            errorAt(
              [...at, 'labels', label, 'cleanUp'],
              'has no effect, because used nodes are deleted',
              'Set onReturn: reuse, or remove it.',
            ),
          ]
        : []),
    ];
  });
}

function checkProviderPool(
  { labels }: PoolSpec,
  { limits, labels: offers }: ProviderPoolSpec,
  at: Path,
): readonly Problem[] {
  const known = Object.keys(labels);
  const isOff = limits['nodes'] === 0;
  return Object.entries(offers).flatMap(([label, offer]) => {
    const path: Path = [...at, 'labels', label];
    if (!Object.hasOwn(labels, label))
      return [
        errorAt(path, `label ${label} is not declared`, suggest(label, known) ?? 'Declare it under labels.'),
      ];
    if (offer.uses['nodes'] !== 1)
      return [errorAt([...path, 'uses', 'nodes'], 'must be 1: each machine is one node', 'Remove it.')];
    const over = isOff ? {} : excess(offer.uses, limits);
    const problems: Problem[] = [];
    if (!isNothing(over))
      problems.push(
        errorAt(
          [...path, 'uses'],
          `a machine uses ${amountsText(offer.uses)}, more than the limits of the provider pool`,
          'Raise the limits, or remove the label.',
        ),
      );
    for (const key of ['minRetention', 'maxAge'] as const) {
      if (offer.slots === undefined && offer[key] !== undefined)
        problems.push(
          errorAt(
            [...path, key],
            'requires slots: it applies only to machines that several nodes share',
            'Set slots, or remove it.',
          ),
        );
    }
    if (offer.slots !== undefined && labels[label]?.onReturn === 'reuse') {
      problems.push(
        errorAt(
          [...path, 'slots'],
          `nodes that share a machine cannot be reused, but label ${label} has onReturn: reuse`,
          'Set onReturn: delete, or remove slots.',
        ),
      );
    }
    return problems;
  });
}
