// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Three servers find each other by their names, and start without each other. The storage of one cannot become that of several:
// Vault would start without its secrets.
func TestSeveralServersOfVault(t *testing.T) {
	dir, s := filepath.Join(modules(t), "vault"), kubectlShell(t)
	variables := func(replicas int) map[string]any {
		return map[string]any{"platform": "acme-eu", "kubeconfig": noCluster, "ca": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
			"server": map[string]any{"tls_secret": "vault-tls", "replicas": replicas}}
	}
	// refused applies with other variables, and returns what is said without the borders of the message.
	refused := func(replicas int) string {
		t.Helper()
		text, err := json.Marshal(variables(replicas))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "terraform.tfvars.json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.tofu(dir, "apply", "-auto-approve", "-input=false", "-no-color")
		if err == nil {
			t.Errorf("%d servers are accepted", replicas)
		}
		return strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " ")
	}
	s.outputs(dir, variables(3))
	// The text of a manifest is escaped twice.
	state := func() string { return strings.ReplaceAll(s.must(dir, "state", "pull"), `\`, "") }
	shown := state()
	for text, want := range map[string]int{`leader_api_addr = "https://vault-2.vault-internal.vault.svc:8200"`: 1, `leader_tls_servername = "vault.vault.svc"`: 3,
		`storage "file"`: 0, "VAULT_RAFT_NODE_ID": 1, "PodDisruptionBudget": 1, "podManagementPolicy": 1, "Parallel": 1, "podAntiAffinity": 1,
		// Clients reach the servers that serve; these reach each other before that.
		`"publishNotReadyAddresses": false`: 1, `"publishNotReadyAddresses": true`: 1,
		// More servers are known before there are more.
		`leader_api_addr = "https://vault-4.vault-internal.vault.svc:8200"`: 1} {
		if n := strings.Count(shown, text); n < want || want == 0 && n > 0 {
			t.Errorf("the state has %s %d times, want %d", text, n, want)
		}
	}
	if says := refused(1); !strings.Contains(says, "have the storage of several servers") {
		t.Error(says)
	}
	if says := refused(2); !strings.Contains(says, "server.replicas is 1, 3 or 5") {
		t.Error(says)
	}
	// checksum is that of the configuration, with which each server would restart, and be sealed.
	checksum := func() string {
		t.Helper()
		_, rest, _ := strings.Cut(state(), `"yuba.dev/config": "`)
		sum, _, found := strings.Cut(rest, `"`)
		if !found || len(sum) != 64 {
			t.Fatalf("the Pods have no checksum: %.200s", rest)
		}
		return sum
	}
	before := checksum()
	s.outputs(dir, variables(5))
	if checksum() != before {
		t.Error("more servers have another configuration")
	}

	dir = filepath.Join(modules(t), "vault")
	s.outputs(dir, variables(5))
	if says := refused(3); !strings.Contains(says, "was made with 5 servers") || !strings.Contains(says, "yuba vault members remove") {
		t.Error(says)
	}
	s.outputs(dir, variables(5))

	dir = filepath.Join(modules(t), "vault")
	s.outputs(dir, variables(1))
	// Another configuration, whose checksum the Pod has, would restart and so seal each Vault that exists.
	if shown := state(); strings.Contains(shown, "retry_join") || strings.Contains(shown, "PodDisruptionBudget") || strings.Contains(shown, `"publishNotReadyAddresses": false`) || !strings.Contains(shown, "98582384c506e429383d0edf5e1f781668ff7001a19d9748464fde45e88d73aa") {
		t.Error("one server is made as several are")
	}
	if says := refused(3); !strings.Contains(says, "have the storage of one server") {
		t.Error(says)
	}
}
