# Installs PostgreSQL if it is missing.
. "$HEDDLE_DATA"
# On a machine that is only a folder, packages and data would be those of the host.
[ "$(hostname)" = "$HEDDLE_HOSTNAME" ] && [ "$(id -u)" = 0 ] || fail 'this example needs machines with a system of their own, and root on them'

install_packages() {
  command -v apt-get >/dev/null || fail 'there is no PostgreSQL and no apt-get here: use an image with PostgreSQL'
  # The package would create an unused database cluster.
  mkdir -p /etc/postgresql-common/createcluster.d
  echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/heddle.conf
  export DEBIAN_FRONTEND=noninteractive
  set -- apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 postgresql
  "$@" || { apt-get update -q && "$@"; }
}

find_postgres || install_packages
find_postgres || fail 'PostgreSQL was installed, but its programs are not found'
version=$(postgres --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
[ "$version" -ge 14 ] || fail "PostgreSQL $version is too old: these scripts need 14 or newer"
echo "postgres-version=$version" >>"$HEDDLE_RESULT"
postgres --version
