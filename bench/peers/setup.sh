#!/bin/sh
# Installs the tools that bench/steps.mjs compares with into a folder of their own. Usage: sh bench/peers/setup.sh FOLDER
set -eu
python3 -m venv "$1"
"$1/bin/pip" install --quiet asyncssh==2.21.1 parallel-ssh==2.14.0 pyinfra==3.5.1 ansible-core==2.17.14
