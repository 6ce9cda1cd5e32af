#!/bin/sh
# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Installs a release of Yuba: downloads the archive for this machine, verifies it, and installs its programs into one
# directory. "sh install.sh --help" lists the options. It verifies everything before it replaces any file, so a failure leaves
# the installed version as it is.
set -eu

releases=https://github.com/yuba-dev/yuba/releases
work='' staged=''

usage() {
	cat <<'EOF'
Usage: sh install.sh [OPTION]...

Downloads a release of Yuba for this machine, verifies it and installs its programs.

  --version VERSION    install this version, such as 1.2.3 (default the newest; an older one
                       than is installed only with this option)
  --prefix DIR         install into DIR/bin (default ~/.local, for root /usr/local)
  --public-key FILE    require a signature of this key (default $YUBA_PUBLIC_KEY)
  --help               show this help

$YUBA_DOWNLOAD_URL names a directory with the files of a release, instead of the project's page: https, http or file.
EOF
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE [WHAT TO DO]: ends the installation.
fail() {
	printf 'install.sh: %s\n' "$1" >&2
	[ $# -lt 2 ] || printf '%s\n' "$2" >&2
	exit 1
}

clean_up() {
	[ -z "$work" ] || rm -rf "$work"
	[ -z "$staged" ] || rm -rf "$staged"
}

has() { command -v "$1" >/dev/null 2>&1; }

# platform: prints the platform of this machine.
platform() {
	case $(uname -s) in
	Linux) ;;
	Darwin) fail 'Yuba does not run on macOS: it confines tofu with features of the Linux kernel.' \
		'Run it in a Linux virtual machine or on a server; kubectl on this Mac reaches its API.' ;;
	*) fail "there is no Yuba for $(uname -s). It runs on Linux." ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) say linux_amd64 ;;
	aarch64 | arm64) say linux_arm64 ;;
	*) fail "there is no Yuba for $(uname -m) processors: releases are for x86_64 and aarch64." \
		'With Go and git you can build it: see CONTRIBUTING.md.' ;;
	esac
}

# download FILE: fetches a file of the release into the work directory.
download() {
	case $base in
	https:*) protocols='=https' redirects='=https' secure='--https-only' ;;
	*) protocols='=http,https,file' redirects='=http,https' secure='' ;;
	esac
	if has curl; then
		curl -fsSL --proto "$protocols" --proto-redir "$redirects" --connect-timeout 10 --retry 2 --speed-limit 1 --speed-time 30 \
			--max-filesize 1073741824 -o "$work/$1" "$base/$1" && return
	elif has wget; then
		wget -q -T 30 $secure -O "$work/$1" "$base/$1" && return
	else
		fail 'neither curl nor wget is installed.' 'Install one of them, or unpack the archive yourself.'
	fi
	fail "could not download $base/$1" "Check the version and the network; \$YUBA_DOWNLOAD_URL names a mirror."
}

# sum FILE: prints its checksum.
sum() {
	if has sha256sum; then
		sha256sum "$1" | cut -d ' ' -f 1
	elif has shasum; then
		shasum -a 256 "$1" | cut -d ' ' -f 1
	elif has openssl; then
		openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
	else
		fail 'the download cannot be verified: none of sha256sum, shasum and openssl is installed.'
	fi
}

# verify_signature LIST: verifies the signature of the list of checksums.
verify_signature() {
	if [ -z "$public_key" ]; then
		say 'The signature was not checked: --public-key names the key to check it with.'
		return
	fi
	[ -r "$public_key" ] || fail "cannot read the public key $public_key"
	has openssl || fail 'the signature cannot be verified: openssl is not installed.'
	download "$1.sig"
	openssl dgst -sha256 -verify "$public_key" -signature "$work/$1.sig" "$work/$1" >/dev/null 2>&1 ||
		fail "the signature of $1 is not one of $public_key. Nothing was installed." 'The release has another author, or was damaged during the download.'
	say 'The signature is good.'
}

# verify ARCHIVE LIST: verifies the checksum of the archive.
verify() {
	want=$(awk -v name="$1" '$2 == name { print $1 }' "$work/$2")
	[ -n "$want" ] || fail "$2 has no checksum for $1. Nothing was installed."
	got=$(sum "$work/$1")
	[ "$want" = "$got" ] || fail "the checksum of $1 is $got, and should be $want. Nothing was installed." \
		'It was damaged or replaced on its way. Try again.'
	say 'The checksum is good.'
}

# older A B: reports whether version A is older than B. Versions without a number, such as commit ids, are never older.
older() {
	awk -v a="$1" -v b="$2" '
	# read VERSION INTO: its numbers, what comes before the release (rc.1) and how many commits it is after it.
	function read(text, into,    parts) {
		sub(/^v/, "", text)
		sub(/-dirty$/, "", text)
		into["after"] = 0
		if (match(text, /[-+][0-9]+[-.]g[0-9a-f]+/)) {
			into["after"] = substr(text, RSTART + 1) + 0
			text = substr(text, 1, RSTART - 1)
		}
		sub(/\+.*/, "", text)
		into["before"] = ""
		if (match(text, /-/)) {
			into["before"] = substr(text, RSTART + 1)
			text = substr(text, 1, RSTART - 1)
		}
		if (text !~ /^[0-9]+\.[0-9]+\.[0-9]+$/) exit 1
		split(text, parts, ".")
		for (i = 1; i <= 3; i++) into[i] = parts[i] + 0
	}
	# compare A B: two parts of a version, numbers as numbers.
	function compare(a, b) {
		if (a ~ /^[0-9]+$/ && b ~ /^[0-9]+$/) return (a + 0 < b + 0) ? -1 : (a + 0 > b + 0)
		return (a "" < b "") ? -1 : (a "" > b "")
	}
	BEGIN {
		read(a, x)
		read(b, y)
		for (i = 1; i <= 3; i++) if (x[i] != y[i]) exit !(x[i] < y[i])
		if (x["before"] != y["before"]) {
			if (x["before"] == "" || y["before"] == "") exit !(x["before"] != "")
			n = split(x["before"], p, ".")
			m = split(y["before"], q, ".")
			for (i = 1; i <= n && i <= m; i++) if ((c = compare(p[i], q[i])) != 0) exit !(c < 0)
			exit !(n < m)
		}
		exit !(x["after"] < y["after"])
	}'
}

# place DIRECTORY: copies the unpacked programs beside their destination, then renames all of them.
place() {
	for name in yuba yuba-helm yuba-kustomize yuba-network yuba-policy yuba-runner yuba-sandbox yuba-sops; do
		[ -f "$1/bin/$name" ] || fail "the archive has no $name. Nothing was installed."
	done
	programs=''
	for path in "$1"/bin/*; do
		[ "${path##*/}" = yuba ] || programs="$programs ${path##*/}"
	done
	programs="$programs yuba" # the others first: a yuba that is started now finds those of its own version
	mkdir -p "$bin" || fail "cannot create $bin" 'Choose another directory with --prefix, or run this as root.'
	for name in $programs; do
		[ ! -d "$bin/$name" ] || fail "$bin/$name is a directory. Nothing was installed."
	done
	staged=$(mktemp -d "$bin/.yuba-install.XXXXXX") || fail "cannot write to $bin" 'Choose another directory with --prefix, or run this as root.'
	for name in $programs; do
		cp "$1/bin/$name" "$staged/$name" || fail "cannot write to $bin. Nothing was installed."
		chmod 755 "$staged/$name"
	done
	"$staged/yuba" version --client >/dev/null ||
		fail "the programs do not start from $bin. Nothing was installed." 'Is that file system mounted with noexec? Choose another directory with --prefix.'
	trap '' INT TERM # the programs of two versions do not work together
	for name in $programs; do
		mv -f "$staged/$name" "$bin/$name" || fail "cannot replace $bin/$name. It now contains programs of two versions: run this script again."
	done
}

# next: prints the next steps.
next() {
	say ''
	case :$PATH: in
	*:"$bin":*) ;;
	*) say "$bin is not on your PATH. Add it, in your shell's profile, too:" && say "    export PATH=\"$bin:\$PATH\"" ;;
	esac
	found=$(command -v yuba || true)
	[ -z "$found" ] || [ "$found" = "$bin/yuba" ] || say "Another yuba comes first on your PATH: $found"
	if has tofu; then
		say 'Start Yuba:'
	else
		say 'Start Yuba. The first start fetches OpenTofu, unless there is one:'
	fi
	say '    yuba up'
}

main() {
	prefix='' version='' public_key=${YUBA_PUBLIC_KEY:-}
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h) usage && exit 0 ;;
		--version | --prefix | --public-key)
			[ $# -ge 2 ] || fail "$1 wants a value" "$(usage)"
			case $1 in
			--version) version=${2#v} ;;
			--prefix) prefix=$2 ;;
			*) public_key=$2 ;;
			esac
			shift 2
			;;
		*) fail "there is no option $1" "$(usage)" ;;
		esac
	done
	if [ -z "$prefix" ]; then
		if [ "$(id -u)" -eq 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
	fi
	bin=$prefix/bin
	platform=$(platform)

	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	work=$(mktemp -d)
	base=${YUBA_DOWNLOAD_URL:-}
	base=${base%/}
	if [ -z "$base" ] && [ -n "$version" ]; then
		base=$releases/download/v$version
	elif [ -z "$base" ]; then
		base=$releases/latest/download
	fi
	before=''
	[ ! -x "$bin/yuba" ] || before=$("$bin/yuba" version --client 2>/dev/null | sed -n 's/^Client: \([^ ]*\).*/\1/p') || before=''
	asked=$version
	if [ -z "$version" ]; then
		download yuba_version.txt
		version=$(cat "$work/yuba_version.txt")
	fi
	case $version in
	'' | *[!0-9A-Za-z.+-]*) fail "\"$version\" is not a version: want one such as 1.2.3" ;;
	esac
	# No signature covers yuba_version.txt: a signed release that is old could be offered as the newest.
	if [ -z "$asked" ] && [ -n "$before" ] && older "$version" "$before"; then
		fail "$base offers $version as the newest version, and $before is installed in $bin, which is newer. Nothing was installed." \
			"To go back to the older version, name it: --version $version"
	fi
	archive=yuba_${version}_$platform.tar.gz
	list=yuba_${version}_SHA256SUMS

	say "Downloading $base/$archive"
	download "$list"
	verify_signature "$list"
	download "$archive"
	verify "$archive" "$list"
	tar -xzf "$work/$archive" -C "$work" || fail "cannot unpack $archive. Nothing was installed."
	place "$work/yuba_${version}_$platform"
	if [ -n "$before" ]; then
		say "Installed Yuba $version in $bin, in place of $before. A Yuba that runs is the old one until it is restarted."
	else
		say "Installed Yuba $version in $bin."
	fi
	next
}

main "$@"
