// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/platform/vaultinit"
)

// keepsSecretsWithoutALeader applies the module vault with three servers, initialises them with one command, and deletes the Pod of the
// leader: the others serve, and the same command unseals the one that comes back.
func (w *world) keepsSecretsWithoutALeader() {
	w.t.Helper()
	w.importVault("docker.io/hashicorp/vault:1.21.4")
	v := w.vault("vaults", 3)
	pods := []string{"vault-0", "vault-1", "vault-2"}
	// A state of its own: that of one server is refused.
	if err := os.CopyFS(filepath.Join(w.modules, v.namespace), os.DirFS(filepath.Join(w.root, "examples", "platform", "modules", "vault"))); err != nil {
		w.t.Fatal(err)
	}
	w.apply(v.namespace, "vault", map[string]any{"platform": "acme-us", "kubeconfig": w.inline, "ca": string(v.authority),
		"server": map[string]any{"namespace": v.namespace, "replicas": len(pods), "tls_secret": "vault-tls", "image_pull_policy": "Never", "storage": "1Gi", "storage_class": "machine"}})
	v.ready(pods...)
	v.initialise(pods, vaultinit.VerbInit, "the initialisation")
	v.ready(pods...)
	w.say("three servers are initialised, once, and ready")

	leader := ""
	for _, pod := range pods {
		v.pod = pod
		v.forward()
		if _, out := v.ask(http.MethodGet, "sys/leader", "", nil); out["is_self"] == true {
			leader += pod
		}
		v.logins()
	}
	w.say("each of them lets External Secrets' account read; the leader is " + leader)

	w.kubectl("-n", v.namespace, "delete", "pod", leader)
	for _, pod := range pods {
		if pod == leader {
			continue
		}
		v.pod = pod
		v.forward()
		w.eventually(time.Minute, pod+" serves without the leader", func() error {
			if code, _ := v.login("external-secrets", "external-secrets"); code != http.StatusOK {
				return fmt.Errorf("a login is answered by %d", code)
			}
			return nil
		})
	}
	w.say("the others serve without it")
	w.kubectl("-n", v.namespace, "wait", "pod/"+leader, "--for=create", "--timeout=60s")
	w.kubectl("-n", v.namespace, "wait", "pod/"+leader, "--for=jsonpath={.status.phase}=Running", "--timeout=60s")
	v.initialise(pods, vaultinit.VerbNothing, "the command after a restart")
	v.ready(pods...)
	w.say("the former leader is unsealed, and ready")
}

// ready waits for Pods, which the StatefulSet makes.
func (v *vault) ready(pods ...string) {
	v.t.Helper()
	for _, pod := range pods {
		v.kubectl("-n", v.namespace, "wait", "pod/"+pod, "--for=create", "--timeout=60s")
		v.kubectl("-n", v.namespace, "wait", "pod/"+pod, "--for=condition=Ready", "--timeout=60s")
	}
}

// initialise runs the command for all servers, with the identities of two recipients, and checks what it did.
func (v *vault) initialise(pods []string, verb vaultinit.Verb, what string) {
	v.t.Helper()
	args := v.init("--address", v.reach(pods[0]))
	for _, pod := range pods[1:] {
		args = append(args, "--member", v.reach(pod))
	}
	for i, identity := range v.identities[:2] {
		file := filepath.Join(v.dir, fmt.Sprintf("%s-identity-%d", v.namespace, i))
		v.write(file, identity.String()+"\n")
		args = append(args, "-i", file)
	}
	var done vaultinit.Outcome
	if out := v.must("", "yuba", args...); json.Unmarshal([]byte(out), &done) != nil || done.Verb != verb || done.Sealed || done.Members != len(pods)-1 {
		v.t.Errorf("%s says %s", what, out)
	}
}
