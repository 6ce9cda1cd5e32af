#!/bin/sh
# Sends the cluster's kubeconfig to Yuba, once. The token is in a file, so that no argument shows it.
set -eu
umask 077
. /etc/yuba/call-home.env
written=/etc/rancher/k3s/k3s.yaml
copy=/run/yuba-kubeconfig
trap 'rm -f "$copy"' EXIT
tries=0
until [ -s "$written" ]; do
	tries=$((tries + 1))
	[ "$tries" -le 300 ] || { echo "call home: k3s has not written $written in 10 minutes" >&2; exit 1; }
	sleep 2
done
sed "s#https://127\.0\.0\.1:#https://$API_ADDRESS:#" "$written" >"$copy"
tries=0
while :; do
	answer=$(curl --proto '=https' --tlsv1.2 --silent --show-error --max-time 30 --cacert /etc/yuba/call-home.crt \
		--header @/etc/yuba/call-home.header --upload-file "$copy" --output /run/yuba-call-home.answer --write-out '%{http_code}' "$CALL_HOME_URL") || answer=000
	case $answer in
	204)
		rm -f /etc/yuba/call-home.header
		echo "call home: Yuba has the kubeconfig"
		exit 0
		;;
	4*)
		echo "call home: Yuba refused the kubeconfig with $answer: $(head -c 500 /run/yuba-call-home.answer)" >&2
		exit 1
		;;
	esac
	tries=$((tries + 1))
	[ "$tries" -le 360 ] || { echo "call home: Yuba did not answer in half an hour" >&2; exit 1; }
	sleep 5
done
