import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  log,
  setCurrentDetails,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { JsonObject } from '../model/json.js';
import type { MachineOrder } from '../model/machine/messages.js';
import { parseImageRef } from '../model/machine/image.js';
import { readMachineKey, uploadToken } from '../model/names.js';
import type { TaskRequest } from '../model/node/task-request.js';
import { decideSweep, leakId, withoutRepeats } from '../model/sweep/decide.js';
import type {
  AccountReport,
  Deletion,
  SweepInput,
  SweepAccounts,
  SweptAccount,
} from '../model/sweep/sweep.js';
import type { Leak, SweepReport } from '../schema/output/system.js';
import { detailsOfSweep } from '../model/sweep/sweep-text.js';
import { schedule, scheduleMachineTask, scheduleTask } from './schedule.js';
import { machineTask } from './task-request.js';

/** Longest wait for machines to be deleted, in ms; the next pass finds the rest. */
const deletingMs = 10 * 60_000;

/**
 * One pass of the sweep: lists our machines in all accounts, finds those that no workflow owns, and deletes
 * those that earlier passes saw long enough ago, if enabled. A Schedule starts each pass with the report of
 * the previous one, so no history grows.
 */
export async function sweep(input: SweepInput): Promise<SweepReport> {
  const { accounts, origins, missing } = await schedule('LIST_ACCOUNTS', { resumedAt: input.resumed?.at });
  const reports = withoutRepeats(await Promise.all(accounts.map((account) => readAccount(account, origins))));
  const before = reportBefore();
  const earlier = input.earlier ?? before?.leaks ?? [];
  const evidence = { now: Date.now(), input, earlier, reports, missing, stopped: before?.stopped };
  const { leaks, ripe, refused, unknown, stopped } = decideSweep(evidence);
  const silent = reports.flatMap((report) => report.silent ?? []);
  for (const why of refused) log.warn('the sweep deletes nothing', { why });
  for (const why of silent) log.warn('the sweep leaves some machines unchanged', { why });
  const free = await disowned(ripe);
  const deleted = await Promise.all(free.map(async (leak) => deleteLeak(accounts, leak)));
  const gone = new Set(deleted.filter(({ failed }) => failed === undefined).map(leakId));
  const report: SweepReport = {
    reportVersion: 1,
    at: new Date(Date.now()).toISOString(),
    policy: input.policy,
    deleted,
    refused,
    silent,
    unknown,
    stopped,
    leaks: leaks.filter((leak) => !gone.has(leakId(leak))),
    accounts: reports.map(({ account: { name }, machines, suspects, more = 0, unable }) => ({
      name,
      machines,
      leaks: suspects.length + more,
      unable,
    })),
  };
  setCurrentDetails(detailsOfSweep(report));
  return report;
}

/** Of the pass before, as the schedule hands it on. */
function reportBefore(): SweepReport | undefined {
  const last = workflowInfo().lastResult as SweepReport | undefined;
  return last?.reportVersion === 1 ? last : undefined;
}

async function readAccount(account: SweptAccount, origins: SweepAccounts['origins']): Promise<AccountReport> {
  const { name, type, site } = account;
  try {
    return {
      account,
      ...(await schedule(
        'FIND_LEAKS',
        { provider: { name, type }, origins },
        { at: { site }, summary: `FIND_LEAKS of ${name}` },
      )),
    };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    const why =
      error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'SCHEDULE_TO_START'
        ? `no worker of site ${site} began to list its machines`
        : (error.cause?.message ?? error.message);
    return {
      account,
      machines: 0,
      suspects: [],
      problems: [`the machines of provider ${name} could not be read: ${why}`],
    };
  }
}

/** Running clusters are asked first: machines that they do not release stay. */
async function disowned(ripe: readonly Leak[]): Promise<readonly Leak[]> {
  const machines = ripe.flatMap(({ key, providerid, askedOf }) =>
    askedOf === undefined ? [] : [{ key, providerid, askedOf }],
  );
  if (machines.length === 0) return ripe;
  try {
    const { free } = await schedule(
      'DISOWN',
      { machines },
      { summary: `DISOWN ${machines.length} machines` },
    );
    return ripe.filter(
      ({ askedOf, key, providerid }) =>
        askedOf === undefined ||
        free.some((machine) => machine.key === key && machine.providerid === providerid),
    );
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('clusters could not be asked to release machines', {
      why: error.cause?.message ?? error.message,
    });
    return ripe.filter(({ askedOf }) => askedOf === undefined);
  }
}

/** As an operation deletes a node's machine: by the activity DELETE, on the account's own queue. */
async function deleteLeak(accounts: readonly SweptAccount[], leak: Leak): Promise<Deletion> {
  const { account: name, providerid, key, cluster } = leak;
  const deletion: Deletion = { account: name, providerid, key };
  const account = accounts.find((candidate) => candidate.name === name);
  const machine = readMachineKey(key);
  if (account === undefined || machine === undefined)
    return { ...deletion, failed: 'its account is no longer configured' };
  const { clusterUid, nodeId } = machine;
  const at = { provider: name, type: account.type, site: account.site, fields: {} };
  const task = (action: 'DELETE' | 'DELETE_IMAGE', payload: JsonObject): TaskRequest => ({
    ...machineTask(
      { ...machine, clusterId: cluster ?? '-', uid: clusterUid, payload, placement: at },
      { action, operation: `sweep-${name}` },
    ),
    operation: 'sweep',
  });
  try {
    log.info(`deletes ${leak.what === 'image' ? 'an image' : 'a machine'} without an owner`, {
      account: name,
      providerid,
      key,
    });
    await CancellationScope.withTimeout(deletingMs, async () =>
      leak.what === 'image'
        ? scheduleMachineTask(
            'DELETE_IMAGE',
            { ...task('DELETE_IMAGE', {}), order: orderOfUpload(nodeId, clusterUid, leak) },
            at,
          )
        : scheduleTask('DELETE', { ...task('DELETE', { providerid }), swept: true }, at),
    );
    return deletion;
  } catch (error) {
    if (CancellationScope.current().consideredCancelled) throw error;
    const why = isCancellation(error)
      ? `not within ${deletingMs / 60_000} minutes`
      : error instanceof ActivityFailure
        ? (error.cause?.message ?? error.message)
        : undefined;
    if (why === undefined) throw error;
    return { ...deletion, failed: why };
  }
}

/** As its own workflow would have it deleted. */
function orderOfUpload(nodeId: string, uid: string, { account, providerid, kind }: Leak): MachineOrder {
  const captured = kind === 'captured' ? parseImageRef(providerid) : undefined;
  if (captured !== undefined)
    return {
      at: new Date(Date.now()).toISOString(),
      image: captured,
      token: `${uid}/${nodeId}/${account}`,
      providerImage: providerid,
    };
  const dash = nodeId.lastIndexOf('-');
  const [name, revision] = [nodeId.slice(0, dash), nodeId.slice(dash + 1)];
  return {
    at: new Date(Date.now()).toISOString(),
    image: { name, revision },
    token: uploadToken(uid, Number(revision), account),
    providerImage: providerid,
  };
}
