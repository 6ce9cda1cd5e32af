#!/bin/sh
# Copyright The Yuba Authors
# SPDX-License-Identifier: Apache-2.0

# Starts the services of the example, and Yuba with a new data directory, creates two environments of one tenant, runs
# the tour and continues until Ctrl-C. ONCE=1 stops after the tour. It needs Go, git, curl and the programs of "make
# build tofu".
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
work=${WORK:-$root/.work/reasonable-scale}
data=$work/data
PATH=${BIN:-$root/bin}:$PATH
YUBA_DATA_DIR=$data
KUBECONFIG=$data/kubeconfig
export PATH YUBA_DATA_DIR KUBECONFIG

rm -rf "$work"
mkdir -p "$data"
chmod 700 "$data"

# Bold on a terminal, plain elsewhere.
bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# try COMMAND...: prints a command and runs it.
try() {
	printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@" 2>&1
}

pids=''
finish() {
	status=$?
	trap - EXIT INT TERM HUP
	for pid in $pids; do
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	[ "$status" -eq 0 ] || echo "run.sh: it went wrong. The log of the server is $work/yuba.log" >&2
	exit "$status"
}
trap finish EXIT
trap 'exit 0' INT TERM HUP

# background NAME WORD COMMAND...: starts a command and waits until it has printed the word.
background() {
	name=$1 word=$2
	shift 2
	"$@" >"$work/$name.out" 2>"$work/$name.log" &
	pid=$!
	pids="$pid $pids"
	until grep -q "$word" "$work/$name.out"; do
		if ! kill -0 "$pid" 2>/dev/null; then
			cat "$work/$name.log" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# publish NAME VERSION: pushes the code of a stack to the registry.
publish() {
	try yuba push artifact "oci://$REGISTRY/iac/$1:$2" --path "$code/$1" --insecure-registry \
		--source "https://git.example.com/$1" --revision "$2"
}

# is NAMESPACE/NAME JSONPATH: prints a field of a stack's status.
is() { yuba kubectl -n "${1%/*}" get tf "${1#*/}" -o jsonpath="{.status.$2}" 2>/dev/null; }

# approve NAMESPACE/NAME: approves plans of a stack until it is ready. While a plan waits, its inputs may change, and
# another plan replaces it. Without a terminal the command does not ask about that one: it ends, and is called again.
approve() {
	until [ -n "$(is "$1" plan.pending)" ]; do sleep 0.2; done
	until try yuba approve "$1" --wait </dev/null; do
		[ -n "$(is "$1" plan.pending)" ] || [ "$(is "$1" 'conditions[?(@.type=="Ready")].status')" != True ] || break
		sleep 0.5
	done
}

# ring NAMESPACE: calls the Receiver, as a git server or a registry does after a push.
ring() {
	hook=$(yuba kubectl -n "$1" get receiver pushed -o jsonpath='{.status.webhookPath}')
	try curl -fsS -X POST "$web$hook"
}

say 'The world: a git server with the central repository, a registry, a place for states.'
go build -o "$work/world" ./examples/reasonable-scale/world
background world RECEIVER_TOKEN= "$work/world" -central examples/reasonable-scale/central
cat "$work/world.out"
. "$work/world.out"
export CENTRAL CENTRAL_TREE REGISTRY REGISTRY_INSECURE STATES STATES_USERNAME STATES_PASSWORD RECEIVER_TOKEN

say 'Yuba: a Kubernetes API of its own, and the controllers.'
background yuba '^Yuba is ready' yuba up --data-dir "$data" --api-address 127.0.0.1:0 --http-address 127.0.0.1:0 \
	--registry-address 127.0.0.1:0 --registry-host registry.example.com
cat "$work/yuba.out"
web=$(sed -n 's/^ *Webhooks: *//p' "$work/yuba.out")

code=$work/iac
cp -R examples/reasonable-scale/iac "$code"
cd examples/reasonable-scale

say '1. The teams publish the modules that several stacks use, and the code of their stacks, with versions.'
try yuba registry push --recursive modules
for stack in account network cluster; do publish $stack 1.0.0; done
for stack in foo bar; do publish $stack 0.1.0; done

say '2. Two environments. Each is told who it is, and where the central repository is; it loads the rest.'
for environment in stage production; do
	printf '\n%s$ ./bootstrap.sh tenant-a %s | yuba kubectl apply -f -%s\n' "$bold" "$environment" "$plain"
	./bootstrap.sh tenant-a $environment | yuba kubectl apply -f -
done
until yuba kubectl -n tenant-a-stage get tf bar >/dev/null 2>&1; do sleep 0.2; done
try yuba kubectl -n tenant-a-stage wait --for=condition=Ready terraform --all --timeout=180s
try yuba tree -n tenant-a-stage

say '3. In production, each plan waits for a person, and each layer for the one below it.'
for stack in account network cluster foo bar; do approve tenant-a-production/$stack; done
try yuba list -A

say '4. A new version of foo: stage follows its range, production stays.'
printf '\nresource "terraform_data" "cache" {\n  input = "cache of ${local.service}"\n}\n' >>"$code/foo/main.tf"
publish foo 0.1.1
ring tenant-a-stage
until yuba kubectl -n tenant-a-stage get tf foo -o jsonpath='{.status.lastAppliedRevision}' | grep -q '^0.1.1@'; do sleep 0.2; done
try yuba list -A

say '5. Production moves when the central repository says so.'
sed -i.before 's/version_foo_tf: "0.1.0"/version_foo_tf: "0.1.1"/' "$CENTRAL_TREE/environments/tenant-a/production/versions.yaml"
rm "$CENTRAL_TREE/environments/tenant-a/production/versions.yaml.before"
try git -C "$CENTRAL_TREE" -c user.name=you -c user.email=you@example.com commit -qam "production takes foo 0.1.1"
try git -C "$CENTRAL_TREE" push -q origin main
ring tenant-a-production
until yuba kubectl -n tenant-a-production get tf foo -o jsonpath='{.status.plan.pending}' | grep -q .; do sleep 0.2; done
try yuba plan tenant-a-production/foo
approve tenant-a-production/foo

if [ -n "${ONCE:-}" ]; then
	say 'That was the tour. Stopping everything.'
	exit 0
fi

cat <<TEXT

${bold}That was the tour; everything goes on until Ctrl-C. In another terminal:${plain}

    export PATH=$root/bin:\$PATH
    export KUBECONFIG=$KUBECONFIG
    cd $CENTRAL_TREE                                  the central repository: edit, commit, git push

    yuba get all -A                                   everything, and how it stands
    yuba tree kustomization environment -n tenant-a-stage   what came from where
    yuba reconcile source git central -n tenant-a-stage     do not wait for the interval

    set -a; . $work/world.out; set +a                 another environment:
    $root/examples/reasonable-scale/bootstrap.sh tenant-b stage | yuba kubectl apply -f -

TEXT
wait
