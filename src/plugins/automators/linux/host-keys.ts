/**
 * Prints what distinguishes this machine from others that are loaded with its image: its firmware's numbers, or the
 * addresses of its network interfaces. Blank where there are neither, as in a container.
 */
const identify = `
words=$(cd /sys/class/dmi/id 2>/dev/null && cat product_uuid product_serial board_serial 2>/dev/null) || :
[ -n "$words" ] || words=$(tr -d '\\000' </sys/firmware/devicetree/base/serial-number 2>/dev/null) || :
[ -n "$words" ] || words=$(for card in /sys/class/net/*; do [ ! -e "$card/device" ] || cat "$card/address"; done | sort)
printf '%s\\n' "$words"`;

const program = `#!/bin/sh
# Written by Heddle when this image was captured. On a machine other than the captured one it makes new host keys of SSH.
set -eu
identity=$(${identify}
)
known=/etc/heddle/host-keys-of
if [ "$identity" = "$(cat "$known" 2>/dev/null)" ]; then exit 0; fi
rm -f /etc/ssh/ssh_host_*_key /etc/ssh/ssh_host_*_key.pub
ssh-keygen -A
printf '%s\\n' "$identity" >"$known"
`;

const unit = `[Unit]
Description=New host keys of SSH on a machine that was loaded with the image of another
DefaultDependencies=no
After=local-fs.target
Before=ssh.service sshd.service ssh.socket sshd.socket

[Service]
Type=oneshot
ExecStart=/bin/sh /etc/heddle/host-keys.sh

[Install]
WantedBy=multi-user.target
`;

/**
 * Part of a program that runs as root before a capture: machines that are loaded with the image do not share the host keys
 * of the captured one. That keeps its own, because it goes on with this disk and others know them.
 */
export const renewHostKeys = `
if [ -d /etc/systemd/system ] && command -v systemctl >/dev/null && command -v ssh-keygen >/dev/null; then
  mkdir -p /etc/heddle /etc/systemd/system/multi-user.target.wants
  cat >/etc/heddle/host-keys.sh <<'HEDDLE_PROGRAM'
${program}HEDDLE_PROGRAM
  cat >/etc/systemd/system/heddle-host-keys.service <<'HEDDLE_UNIT'
${unit}HEDDLE_UNIT
  ln -sf ../heddle-host-keys.service /etc/systemd/system/multi-user.target.wants/heddle-host-keys.service
  (${identify}
  ) >/etc/heddle/host-keys-of
elif ls /etc/ssh/ssh_host_*_key >/dev/null 2>&1; then
  echo 'the host keys of SSH stay in the image: there is no systemd that could make new ones at the first boot' >&2
fi
`;
