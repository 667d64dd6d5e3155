import fc from 'fast-check';

// oxlint-disable-next-line node/no-process-env -- a hunt is asked for from outside: no configuration of the product
const { HEDDLE_SEED: seed = '1' } = process.env;

// The ordinary tests try the same values each time: what no change broke does not fail. A hunt gives another
// HEDDLE_SEED.
fc.configureGlobal({ seed: Number(seed) });

export { fc };
