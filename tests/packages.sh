#!/bin/sh
# What some tests need beside Python: tests/packages.sh PROGRAM=PACKAGE ...
# Each package is installed from Debian's (or Ubuntu's) archive if its program is not there.
set -eu
missing=
for pair in "$@"; do
	program=${pair%%=*}
	command -v "$program" >/dev/null 2>&1 || ls $program >/dev/null 2>&1 || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null 2>&1 || { echo "install these first:$missing" >&2; exit 1; }
root=
[ "$(id -u)" = 0 ] || root=sudo
echo "Installing$missing, once"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq >/dev/null
$root apt-get install -y -qq --no-install-recommends $missing >/dev/null
