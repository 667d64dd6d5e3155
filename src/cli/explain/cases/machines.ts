import type { Case } from '../case.js';

/** Providers, machines, images, pools and reservations. */
export const machineCases: readonly Case[] = [
  {
    message:
      'CREATE of machine … was sent to provider …, and it is unknown whether the machine was created (…).',
    of: 'task',
    code: 'UnknownOutcome',
    cause:
      'The response was lost, and this provider cannot be asked for its machine. A second CREATE could make a second machine.',
    remedy:
      'Look at the provider for a machine of that name, delete it, then confirm with the command of the message.',
    command: 'heddle retry NAME',
  },
  {
    message: 'the provider has … machines for one key (…); delete all but one there, then retry',
    of: 'task',
    code: 'UnknownOutcome',
    cause: 'Someone copied a machine with its tags, or the provider created two for one request.',
    remedy: 'Keep the machine that is in use, delete the others at the provider, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message:
      'all … machines of provider … that fit are in use (…); delete a cluster that uses them, or add machines to heddle.yaml',
    of: 'task',
    code: 'Capacity',
    cause: 'The machines of the account are claimed by other clusters, pools or machine registrations.',
    remedy: 'Delete what is not needed, or add machines to the account. Then retry.',
    command: 'heddle retry NAME',
  },
  {
    message:
      '… machines of provider … are free, but none of their SSH servers answers (…); switch one on, or set liveness: none if they are reached through a jump host',
    of: 'task',
    code: 'Capacity',
    cause: 'The free machines are switched off, or workers cannot reach them.',
    remedy: 'Switch machines on, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message: 'provider … did not answer within … ms',
    of: 'task',
    code: 'Retryable',
    cause: 'The API of the provider is slow or unreachable from the worker.',
    remedy: 'Check its status page and the network of the worker. The task continues when it answers.',
    command: 'heddle provider test ACCOUNT',
  },
  {
    message: '… was started on worker host … and may still run; …. Machine … is blocked until then.',
    of: 'task',
    code: 'Retryable',
    cause:
      'A program that writes a disk or switches power was started on a worker host that is down or unreachable.',
    remedy: 'Bring that host back. Only if the program certainly does not run any more, confirm it.',
    command: 'heddle machine confirm-ended MACHINE --host HOST',
  },
  {
    message:
      '…. Controllers lock accounts, so this login is not retried before …Z; changed credentials are tried immediately',
    of: 'task',
    code: 'Auth',
    cause: 'The controller refused the password. Repeating it would lock the account of the controller.',
    remedy: 'Correct user and password of the controller in heddle.yaml, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message:
      "machine … is busy: … by … is running. Wait for it ('heddle machine show …'), or cancel it ('heddle machine cancel …')",
    of: 'command',
    code: 'Refused',
    cause: 'A machine does one thing at a time.',
    remedy: 'Wait, or cancel what runs. A load that already writes leaves the disk without a usable image.',
    command: 'heddle machine show MACHINE',
  },
  {
    message: 'machine … is quarantined: …; …',
    of: 'command',
    code: 'Refused',
    cause: 'Several operations on it failed in a row, or a person took it out of use.',
    remedy: 'Read the reason, repair the machine, then end the quarantine.',
    command: 'heddle machine quarantine MACHINE --end',
  },
  {
    message: 'image …@… was only partly loaded on machine …; load an image with --force',
    of: 'command',
    code: 'Refused',
    cause: 'A load was interrupted or failed while it wrote the disk.',
    remedy: 'Load an image again.',
    command: 'heddle machine load MACHINE IMAGE --force',
  },
  {
    message:
      'LOAD did not write the disk that the machine boots from; check the program that writes images, and the boot order of the machine',
    of: 'task',
    code: 'MachineFailed',
    cause:
      'The machine booted from another disk than the one that was written, or the program wrote nothing.',
    remedy: 'Compare the device of the account with the boot order of the machine, then load again.',
    command: 'heddle machine load MACHINE IMAGE --force',
  },
  {
    message: '… reported no progress for … s; the last report was: …',
    of: 'task',
    code: 'UnknownOutcome',
    cause: 'The transfer of the image hangs: the network, the image server or the disk of the machine.',
    remedy:
      'Look at the console of the machine, remove the cause, then load again. Slow media need a longer progressWithin.',
    command: 'heddle machine load MACHINE IMAGE --force',
  },
  {
    message:
      'machine … has no mac, the address of its boot interface; add it in heddle.yaml or its inventory',
    of: 'task',
    code: 'Invalid',
    cause: 'Loading over the network identifies the machine by the address of its network interface.',
    remedy: 'Add mac to the machine in the account or inventory.',
  },
  {
    message: 'all … permits for … at site … are in use…',
    of: 'task',
    code: 'NotReady',
    cause: 'loadsAtOnce limits how many loads and captures run at a site at a time.',
    remedy: 'Wait: the task continues by itself. Raise loadsAtOnce if network and storage can take more.',
  },
  {
    message:
      "machine … is reserved for … until … (reservation …); to take it out of use anyway, run 'heddle machine maintain …'",
    of: 'command',
    code: 'Refused',
    cause: 'A user has the machine until the end of the reservation.',
    remedy: 'Wait for the end, or ask the user to return it.',
    command: 'heddle reservation list',
  },
  {
    message:
      "the account of … on machine … was not revoked; run 'heddle machine restore …' to try again, or load an image with --force",
    of: 'command',
    code: 'Refused',
    cause:
      'The machine did not answer at the end of the reservation, so its last user could still log in. It is not given to another user.',
    remedy: 'Try again, or write a new image, which removes the account.',
    command: 'heddle machine restore MACHINE',
  },
  {
    message: 'pool … has no node yet…',
    of: 'task',
    code: 'NotReady',
    cause: 'The request waits in the queue of the pool.',
    remedy: 'See what the pool waits for: capacity, a quota, an image, or earlier requests.',
    command: 'heddle pool waiting POOL',
  },
  {
    message: 'pool … cannot serve the request: …',
    of: 'task',
    code: 'Capacity',
    cause:
      'Every provider pool declined: its limits or the quota are too small, or machines failed too often.',
    remedy: 'Read the failures, correct the cause, then request again or retry.',
    command: 'heddle pool failures POOL',
  },
  {
    message: 'pool … has no label …; its labels are …',
    of: 'command',
    code: 'Invalid',
    cause: 'The label is misspelt, or was removed from the pool.',
    remedy: 'Use one of the labels.',
    command: 'heddle pool labels POOL',
  },
  {
    message: 'was not accepted by its provider in time',
    of: 'task',
    code: 'Retryable',
    cause: 'The provider took longer than usual, and another provider pool could serve the request at once.',
    remedy: 'Do nothing: the request moved. If it happens often, look at the provider.',
    command: 'heddle pool failures POOL',
  },
  {
    message: 'image … has no ready version at …',
    of: 'task',
    code: 'NotReady',
    cause: 'The image was not built yet, or its upload to this account failed or is paused.',
    remedy: 'Check its builds and uploads.',
    command: 'heddle image show IMAGE',
  },
  {
    message: '… waits for …: none polls queue …; next: …',
    of: 'command',
    code: 'NoWorker',
    cause: 'No builder or worker serves the site. Builds need a builder.',
    remedy: 'Start one with the heddle.yaml of the site.',
    command: 'heddle builder start',
  },
  {
    message: 'this builder has no command … (it has: …); add it under builder.commands in its heddle.yaml',
    of: 'task',
    code: 'Invalid',
    cause: 'Builders run only commands that their administrator lists.',
    remedy: 'Add the command to the heddle.yaml of all builders of the site, restart them, and build again.',
    command: 'heddle image build IMAGE',
  },
  {
    message: '… is not on this builder (…); all builders of a site need the same folder',
    of: 'task',
    code: 'Invalid',
    cause: 'The image file was built by another builder, whose folder this one does not share.',
    remedy: 'Let all builders of the site use one shared folder, or run one builder there.',
    command: 'heddle image build IMAGE',
  },
  {
    message: 'no provider accepted it: …',
    of: 'task',
    code: 'Invalid',
    cause: 'The upload failed at every account of the image.',
    remedy: 'Correct what each account says, then upload again without a new build.',
    command: 'heddle image upload IMAGE',
  },
  {
    message: 'image … is not a volume of storage pool …',
    of: 'task',
    code: 'ImageUnusable',
    cause: 'The image that the load should write is not in the storage pool of the machine.',
    remedy: 'Upload it to the account, then load again.',
    command: 'heddle image show IMAGE',
  },
  {
    message: 'image … is not a volume of storage pool …',
    of: 'task',
    code: 'Invalid',
    cause: 'The image of the cluster file has another name than the volume in libvirt, or was not uploaded.',
    remedy: 'Correct the image, map its name under images of the account, or upload it.',
    command: 'heddle image show IMAGE',
  },
  {
    message:
      'the daemon does not have this image, and CREATE does not pull images; run docker pull on its host',
    of: 'task',
    code: 'Invalid',
    cause: 'Pulling could take longer than CREATE may take, and would need credentials of the registry.',
    remedy: 'Pull the image on the host of the daemon, then retry.',
    command: 'heddle retry NAME',
  },
  {
    message:
      'the catalog of … names … for the service …, which is not encrypted: the network could read the token.',
    of: 'task',
    code: 'Invalid',
    cause: 'The OpenStack catalogue names an http:// endpoint of another machine.',
    remedy: 'Change the catalogue to https://. Set insecure: true only in a network that you trust.',
  },
  {
    message:
      'the controller at … would receive its password unencrypted; use https://, or set `insecure: true` of the controller',
    of: 'task',
    code: 'Invalid',
    cause: 'The address of the controller is http:// and not on this machine.',
    remedy: 'Use https://. Set insecure: true only in a network that you trust.',
  },
  {
    message: "no pass of the sweep started within … s; run 'heddle doctor' to check the workers",
    of: 'command',
    code: 'Failed',
    cause: 'No worker carries out the schedule of the sweep, or a pass is under way for long.',
    remedy: 'Check that workers poll, then try again.',
    command: 'heddle doctor',
  },
];
