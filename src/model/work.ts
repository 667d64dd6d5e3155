import type { NodeState } from './node.js';
import type { Kind, PlannedPlacement, PluginPins } from './plan/plan.js';
import { indexesOf } from './plan/plan.js';
import { nodeId } from './names.js';

/** What a workflow that carries nodes keeps of them. Plain JSON, carried from run to run. */
export interface CrewState {
  readonly nodes: Readonly<Record<string, NodeState>>;
  /** Present while an operation is under way. */
  readonly work?: Work;
}

/** What one operation has to do with the nodes of one workflow, and how far it has come. */
export interface Work {
  /** Id of the operation. */
  readonly operation: string;
  /** Only nodes of this workflow. */
  readonly kinds: readonly Kind[];
  /** Where each group's new machines come from. */
  readonly placements: Readonly<Record<string, readonly PlannedPlacement[]>>;
  /** Plugins as they were when this was planned; tasks of others are refused. */
  readonly plugins?: PluginPins;
  /** When it is all done, the operation is planned once more: there is a second part. */
  readonly again?: true;
  /** Tasks that the operation had done when this was planned. */
  readonly doneBefore: number;
  /** Steps of its chain that each node has behind it; absent: none. */
  readonly positions: Readonly<Record<string, number>>;
}

/** Gates and turns of the operation under way, over all nodes of the cluster. */
export interface Board {
  /** How many tasks must end before a gate opens. */
  readonly needed: Readonly<Record<string, number>>;
  readonly passed: Readonly<Record<string, number>>;
  /** How many nodes may be in one turn at once. */
  readonly width: number;
  readonly turns: Readonly<Record<string, Turn>>;
  /** Who waits for a turn, first come first. */
  readonly asked: readonly { readonly turn: string; readonly nodeId: string }[];
  /** How many nodes of each group of the spec the operation goes on without. */
  readonly aside: Readonly<Record<string, number>>;
}

export interface Turn {
  /** Ids of the nodes that are in it. */
  readonly holders: readonly string[];
  /** A node failed in it: nobody else gets in. */
  readonly shut?: true;
}

export interface Chain {
  readonly nodeId: string;
  readonly kind: Kind;
}

/** The chain of every node of a work. */
export function chainsOf(work: Pick<Work, 'kinds'>): readonly Chain[] {
  return work.kinds.flatMap((kind) =>
    indexesOf(kind.nodes).map((index): Chain => ({ nodeId: nodeId(kind.group, index), kind })),
  );
}

export function isOpen(board: Board, gate: string): boolean {
  return (board.passed[gate] ?? 0) >= (board.needed[gate] ?? 0);
}

export function countGate(board: Board, gate: string, by = 1): Board {
  return { ...board, passed: { ...board.passed, [gate]: (board.passed[gate] ?? 0) + by } };
}

/** Gives the node a place in the turn where one is free; the same board when there is none. */
export function enterTurn(board: Board, turn: string, node: string): Board {
  const { holders, shut } = board.turns[turn] ?? { holders: [] };
  if (holders.includes(node) || shut === true || holders.length >= board.width) return board;
  return { ...board, turns: { ...board.turns, [turn]: { holders: [...holders, node] } } };
}

export function leaveTurn(board: Board, turn: string, node: string): Board {
  const before = board.turns[turn] ?? { holders: [] };
  return {
    ...board,
    turns: {
      ...board.turns,
      [turn]: { ...before, holders: before.holders.filter((holder) => holder !== node) },
    },
  };
}

export function shutTurn(board: Board, turn: string): Board {
  return {
    ...board,
    turns: { ...board.turns, [turn]: { holders: board.turns[turn]?.holders ?? [], shut: true } },
  };
}

export function holdsTurn(board: Board, turn: string, node: string): boolean {
  return board.turns[turn]?.holders.includes(node) === true;
}
