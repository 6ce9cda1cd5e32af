#!/bin/sh
# Puts the k3s program in place, verified by its checksum. An image may have it already.
set -eu
. /etc/yuba/k3s.env
program=/usr/local/bin/k3s
if [ -z "$K3S_URL" ]; then
	[ -x "$program" ] || { echo "install k3s: the image has no $program, and no URL to download it from was given" >&2; exit 1; }
	exit 0
fi
case $(uname -m) in
x86_64) arch=amd64 suffix='' sum=$K3S_SHA256_AMD64 pack_sum=${K3S_IMAGES_SHA256_AMD64:-} ;;
aarch64) arch=arm64 suffix=-arm64 sum=$K3S_SHA256_ARM64 pack_sum=${K3S_IMAGES_SHA256_ARM64:-} ;;
*) echo "install k3s: there is no release for $(uname -m)" >&2; exit 1 ;;
esac
fetch() {
	curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --retry 20 --retry-delay 3 --retry-all-errors --max-time 600 --output "$2" "$1"
}
# The same check that k3s' own installer does: it finds damage, and trusts the place of the release. Assign the answer first: as an
# argument, a failure would end nothing.
listed() {
	sums=/run/k3s.sums
	if [ ! -f "$sums" ]; then
		fetch "$K3S_URL/sha256sum-$arch.txt" "$sums.new" || {
			echo "install k3s: without $K3S_URL/sha256sum-$arch.txt, $1 needs a checksum in kubernetes.$2" >&2
			return 1
		}
		mv "$sums.new" "$sums"
	fi
	found=$(awk -v name="$1" '$2 == name { print $1 }' "$sums")
	[ -n "$found" ] || {
		rm -f "$sums" # the mirror may get another one
		echo "install k3s: $K3S_URL/sha256sum-$arch.txt does not list $1, which needs a checksum in kubernetes.$2" >&2
		return 1
	}
	echo "$found"
}
# verified FILE TARGET SUM
verified() {
	fetch "$K3S_URL/$1" "$2.new"
	if ! echo "$3  $2.new" | sha256sum --check --status; then
		rm -f "$2.new" /run/k3s.sums
		echo "install k3s: $K3S_URL/$1 does not have the SHA-256 $3" >&2
		exit 1
	fi
}
# Without the Internet, k3s finds the images that it needs itself here.
if [ -n "${K3S_IMAGES:-}" ]; then
	images=/var/lib/rancher/k3s/agent/images
	mkdir -p "$images"
	pack=k3s-airgap-images-$arch.tar.zst
	[ -n "$pack_sum" ] || pack_sum=$(listed "$pack" airgap_sha256)
	verified "$pack" "$images/k3s.tar.zst" "$pack_sum"
	mv "$images/k3s.tar.zst.new" "$images/k3s.tar.zst"
fi
[ -n "$sum" ] || sum=$(listed "k3s$suffix" sha256)
verified "k3s$suffix" "$program" "$sum"
chmod 0755 "$program.new"
mv "$program.new" "$program"
