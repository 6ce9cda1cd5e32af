#!/bin/sh
# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Starts Yuba with a new data directory, runs the tour of the quickstart and continues until Ctrl-C. ONCE=1 stops after
# the tour. It needs only the programs of "make build tofu sqlite3": kubectl is built into yuba.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
work=$root/.work
data=$work/demo
tables=$work/demo-tables
PATH=$root/bin:$PATH
YUBA_DATA_DIR=$data
KUBECONFIG=$data/kubeconfig
export PATH YUBA_DATA_DIR KUBECONFIG

if [ ! -x bin/yuba ] || [ ! -x bin/yuba-runner ] || [ ! -x bin/yuba-sandbox ] || [ ! -x bin/sqlite3 ]; then
	echo 'demo: a program in bin/ is missing. Build them with "make build tofu sqlite3", or run "make demo".' >&2
	exit 1
fi
if [ -f "$work/demo.pid" ] && kill -0 "$(cat "$work/demo.pid")" 2>/dev/null; then
	echo "demo: it runs already, as process $(cat "$work/demo.pid"). Stop that one first." >&2
	exit 1
fi
rm -rf "$data" "$tables"
mkdir -p "$data" "$tables"
chmod 700 "$data"

# Bold on a terminal, plain elsewhere.
bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# quoted WORD...: the words, quoted for a shell.
quoted() {
	for word; do
		case $word in
		*\'*) printf ' "%s"' "$word" ;;
		*[!A-Za-z0-9_./:=,@-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

# try COMMAND...: prints a command and runs it.
try() {
	printf '\n%s$%s%s\n' "$bold" "$(quoted "$@")" "$plain"
	"$@" 2>&1
}

yuba_pid=''
finish() {
	status=$?
	trap - EXIT INT TERM HUP
	if [ -n "$yuba_pid" ]; then
		kill -TERM "$yuba_pid" 2>/dev/null || true
		wait "$yuba_pid" || status=$?
	fi
	rm -f "$work/demo.pid"
	[ "$status" -eq 0 ] || echo "demo: it went wrong. The log of the server is in $work/demo.log" >&2
	exit "$status"
}
trap finish EXIT
trap 'exit 0' INT TERM HUP

# start FLAG...: starts Yuba, with access to the table of tenants below this directory, and waits until it is ready.
start() {
	yuba up --data-dir "$data" --dev "$@" >"$work/demo.out" 2>"$work/demo.log" &
	yuba_pid=$!
	echo "$yuba_pid" >"$work/demo.pid"
	until grep -q '^Yuba is ready' "$work/demo.out"; do
		if ! kill -0 "$yuba_pid" 2>/dev/null; then
			wait "$yuba_pid" || true
			yuba_pid=''
			return 1
		fi
		sleep 0.1
	done
}

say 'Starting Yuba: a Kubernetes API of its own, the controllers and a runner. No cluster is needed.'
if ! start; then
	if ! grep -q 'address already in use' "$work/demo.log"; then
		cat "$work/demo.log" >&2
		exit 1
	fi
	echo 'Its usual ports are taken; it takes free ones.'
	start --api-address 127.0.0.1:0 --http-address 127.0.0.1:0 || { cat "$work/demo.log" >&2; exit 1; }
fi
cat "$work/demo.out"

cd examples/quickstart

say '1. Four stacks: objects of an API, applied like any other.'
try yuba kubectl apply -k .

say '2. "network" is a directory with a local module. Push it.'
try yuba push network network

say '3. Yuba applies the plans of three stacks automatically. "app" waits for the outputs of "network".'
try yuba kubectl wait --for=condition=Ready terraform/hello terraform/network terraform/app --timeout=120s
try yuba kubectl wait --for=jsonpath='{.status.plan.pending}' terraform/database --timeout=120s
try yuba list

say '4. "database" is in manual mode: its plan waits for approval. Read it.'
try yuba plan database

say '5. Approve it. Yuba applies exactly that plan.'
try yuba approve database --wait

say '6. Show the outputs of the directory, and of the stack that uses them.'
try yuba outputs network
try yuba outputs app

say '7. All stacks are ready.'
try yuba list
try yuba runs database

say '8. Tenants: a table with three rows, its registry, and a template: three stacks.'
sqlite3 "$tables/customers.db" <tenants/customers.sql
try sqlite3 "$tables/customers.db" 'SELECT * FROM customers'
sed "s#/srv/tenants#$tables#" tenants/registry.yaml >"$tables/registry.yaml"
try yuba kubectl apply -f "$tables/registry.yaml" -f tenants/template.yaml
try yuba kubectl wait --for=jsonpath='{.status.readyTenants}'=3 tenanttemplate/space --timeout=120s
try yuba tenant list

say '9. The objects of a tenant have its label: the stack, the Secret with its outputs, and the ConfigMap.'
try yuba kubectl get terraforms,secrets,configmaps -l kubernetes-tenants.org/uid=acme
try yuba outputs acme-network

say '10. A fourth row creates a fourth tenant.'
try sqlite3 "$tables/customers.db" "INSERT INTO customers (id, url) VALUES ('dune', 'dune.example.com')"
try yuba kubectl wait --for=jsonpath='{.status.readyTenants}'=4 tenanttemplate/space --timeout=120s
try yuba tenant list

if [ -n "${ONCE:-}" ]; then
	say 'That was the tour. Stopping Yuba.'
	exit 0
fi

cat <<EOF

${bold}That was the tour; Yuba goes on until Ctrl-C. In another terminal:${plain}

    export PATH=$root/bin:\$PATH
    export KUBECONFIG=$KUBECONFIG
    cd $root/examples/quickstart

    yuba status app                                  how a stack stands and what to do next
    yuba logs network                                what tofu did
    yuba kubectl explain tf.spec                     everything that a stack can say
    yuba kubectl get tf -w                           watch, and in a third terminal:
    yuba kubectl patch tf database --type=merge -p '{"spec":{"vars":[{"name":"size_gb","value":40}]}}'
    yuba plan database                               a change of a variable is a plan that waits
    yuba deploy network --name staging --var cidr=10.30.0.0/16 --var 'subnets=["web"]'
    yuba state history network                       every state there has been
    sqlite3 $tables/customers.db "DELETE FROM customers WHERE id = 'blue'"
    yuba tenant list                                 a row that goes takes its tenant along

EOF
wait "$yuba_pid"
