# A machine with its own system gets nginx from its packages; elsewhere a small Node program is used, so that nothing is
# installed on the host of the demo.
set -e
mkdir -p "$HOME/balancer"
cp "$HEDDLE_DATA" "$HOME/balancer/balancer.mjs"
own_system() { [ "$(hostname)" = "$HEDDLE_HOSTNAME" ] && [ "$(id -u)" = 0 ]; }
get_nginx() {
  command -v nginx >/dev/null && return 0
  command -v apt-get >/dev/null || return 1
  export DEBIAN_FRONTEND=noninteractive
  # The package must not start a server of its own.
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  install="timeout 90 apt-get install -y -q --no-install-recommends nginx"
  $install || { timeout 60 apt-get update -q && $install; }
}
kind=node
if own_system && get_nginx >"$HOME/balancer/install.log" 2>&1; then kind=nginx; fi
echo "$kind" >"$HOME/balancer/kind"
echo "balancer=$kind" >>"$HEDDLE_RESULT"
echo "the balancer is $kind"
