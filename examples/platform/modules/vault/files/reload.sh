#!/bin/sh
# reload.sh TLS PROCESSES SECONDS: Vault reads its certificate when it starts and on SIGHUP, and nothing else tells it that the kubelet
# has replaced the files. A restart would seal it. The signal would end a client, such as an operator's "vault operator rekey", and
# its output with the keys would be lost.
set -eu
tls=$1 processes=$2 every=$3
# server says whether a process is "vault server", and not a client.
server() {
	[ "$(cat "$1/comm" 2>/dev/null)" = vault ] && tr '\0' '\n' 2>/dev/null <"$1/cmdline" | {
		IFS= read -r program && IFS= read -r command && [ "${program##*/}" = vault ] && [ "$command" = server ]
	}
}
sums() { sha256sum "$tls/tls.crt" "$tls/tls.key"; }
known=$(sums)
while sleep "$every"; do
	now=$(sums) || continue
	[ "$now" != "$known" ] || continue
	for process in "$processes"/[0-9]*; do
		if server "$process" && kill -HUP "${process##*/}"; then
			known=$now
			echo "the certificate has changed: Vault reads it again"
		fi
	done
done
