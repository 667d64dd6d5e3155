#!/bin/sh
# Puts Nodepool and ZooKeeper into a folder of their own, for compare.mjs; nothing of the system changes. Needs Python 3, openssl, Java and, for ZooKeeper, Debian's apt-get.
# Usage: sh bench/nodepool/setup.sh FOLDER     about 500 MB
set -eu
folder=${1:?usage: setup.sh FOLDER}
mkdir -p "$folder/packages" "$folder/tls"
cd "$folder"

if [ ! -e done-python ]; then
  echo "Nodepool 11.0.0, in an environment of its own"
  python3 -m venv python
  # cachetools is imported by Nodepool and not declared.
  python/bin/pip install -q --disable-pip-version-check nodepool==11.0.0 cachetools==5.5.2
  touch done-python
fi

if [ ! -e done-zookeeper ]; then
  echo "ZooKeeper, from the system's packages, unpacked and not installed"
  names=$(apt-get install -s --no-install-recommends zookeeper | awk '/^Inst/ {print $2}')
  (cd packages && apt-get download -q $names)
  for package in packages/*.deb; do dpkg-deb -x "$package" zookeeper; done
  touch done-zookeeper
fi

if [ ! -e done-tls ]; then
  echo "certificates for the loopback: Nodepool takes no connection without"
  cd tls
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=bench -keyout ca.key -out ca.pem 2>openssl.log
  for name in server client; do
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout $name.key -out $name.csr 2>>openssl.log
    printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' > names
    openssl x509 -req -days 3650 -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out $name.pem 2>>openssl.log
    cat $name.key $name.pem > $name-both.pem
  done
  cd ..
  touch done-tls
fi
echo "ready: $folder"
