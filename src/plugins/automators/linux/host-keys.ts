/**
 * Prints what distinguishes this machine from others that are loaded with its image. In the first
 * line are the numbers of its firmware, which makers of mainboards often leave at one default;
 * then the addresses of its network interfaces follow. Both may be missing, as in a container.
 */
const identify = `
words=$(cd /sys/class/dmi/id 2>/dev/null && cat product_uuid product_serial board_serial 2>/dev/null | tr '\\n' ' ') || :
file=/sys/firmware/devicetree/base/serial-number
[ -n "$words" ] || [ ! -r "$file" ] || words=$(tr -d '\\000' <"$file")
printf '%s\\n' "$words"
for card in /sys/class/net/*; do [ ! -e "$card/device" ] || cat "$card/address"; done | sort`;

/**
 * An interface may be new or gone: one that is the same is enough. A driver may be later than this program.
 */
const program = `#!/bin/sh
# Written by Heddle when this image was captured. On a machine other than the captured one it makes new host keys of SSH.
set -eu
known=/etc/heddle/host-keys-of
udevadm settle --timeout=30 >/dev/null 2>&1 || :
identity=$(${identify}
)
isSame() {
  [ "$(printf '%s\\n' "$identity" | sed -n 1p)" = "$(sed -n 1p "$known" 2>/dev/null)" ] || return 1
  cards=$(printf '%s\\n' "$identity" | sed 1d)
  before=$(sed 1d "$known" 2>/dev/null)
  if [ -z "$cards" ] || [ -z "$before" ]; then [ -n "$(printf '%s' "$identity" | tr -d ' ')" ]; return; fi
  for card in $cards; do if printf '%s\\n' "$before" | grep -qxF "$card"; then return 0; fi; done
  return 1
}
if isSame; then exit 0; fi
# Nothing distinguishes it: new keys are made once.
[ -n "$(printf '%s' "$identity" | tr -d ' ')" ] || identity=unknown
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
 * Part of a program that runs as root before a capture: machines that are loaded with the image
 * do not share the host keys of the captured one. That keeps its own, because it goes on with
 * this disk and others know them.
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
