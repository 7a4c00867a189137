#!/bin/sh
# Installs Muster from a folder or an address that holds its archives and SHA256SUMS:
#   sh install.sh SOURCE [PREFIX]
# PREFIX is ~/.local by default. Nothing outside of it is touched; remove it with
#   rm -r PREFIX/bin/muster PREFIX/share/doc/muster PREFIX/share/man/man1/muster*.1
set -eu

version=@VERSION@
source=${1:?"usage: sh install.sh SOURCE [PREFIX]"}
prefix=${2:-"$HOME/.local"}

case "$(uname -s) $(uname -m)" in
@PLATFORMS@
  *)
    echo "muster: there is no program for $(uname -s) on $(uname -m)" >&2
    exit 1
    ;;
esac

archive=muster-$version-$platform.tar.gz
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fetch() {
  case "$source" in
  http://* | https://*)
    if command -v curl >/dev/null; then
      curl --fail --silent --show-error --location --output "$folder/$1" "$source/$1"
    else
      wget --quiet --output-document="$folder/$1" "$source/$1"
    fi
    ;;
  *) cp "$source/$1" "$folder/$1" ;;
  esac
}

fetch "$archive"
fetch SHA256SUMS

cd "$folder"
if command -v sha256sum >/dev/null; then
  check="sha256sum --check --quiet"
else
  check="shasum --algorithm 256 --check --quiet"
fi
grep "  $archive\$" SHA256SUMS >wanted
if ! $check wanted; then
  echo "muster: $archive is damaged; nothing was installed" >&2
  exit 1
fi

mkdir -p "$prefix"
tar -xzf "$archive" --strip-components=1 -C "$prefix"
echo "installed $("$prefix/bin/muster" --version) as $prefix/bin/muster"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "add it to your path: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
