#!/bin/sh
# reload.sh TLS PROCESSES SECONDS: Vault reads its certificate when it starts and on SIGHUP, and nothing else tells it that the kubelet
# has replaced the files. A restart would seal it.
set -eu
tls=$1 processes=$2 every=$3
sums() { sha256sum "$tls/tls.crt" "$tls/tls.key"; }
known=$(sums)
while sleep "$every"; do
	now=$(sums) || continue
	[ "$now" != "$known" ] || continue
	for process in "$processes"/[0-9]*; do
		if [ "$(cat "$process/comm" 2>/dev/null)" = vault ] && kill -HUP "${process##*/}"; then
			known=$now
			echo "the certificate has changed: Vault reads it again"
		fi
	done
done
