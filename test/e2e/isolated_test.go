// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// A stack reads a state over HTTP, with tofu's own provider, from a server that an entry names. One
// that asks another address of this machine fails, and its condition says why.
func TestIsolatedRunsOfAServer(t *testing.T) {
	if device, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil {
		t.Skipf("this user cannot have tunnels: %v", err)
	} else {
		device.Close()
	}
	states := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"version": 4, "terraform_version": "1.12.0", "serial": 1, "lineage": "a", "outputs": {"word": {"value": "hello", "type": "string"}}, "resources": []}`)) //nolint:errcheck // the client fails
	}))
	defer states.Close()
	y := alone(t, "--run-network", "isolated", "--run-network-allow", strings.TrimPrefix(states.URL, "http://"))
	ns := y.namespace(t)
	reading := func(url string) string {
		return `
data "terraform_remote_state" "other" {
  backend = "http"
  config  = { address = "` + url + `/state" }
}
output "word" { value = data.terraform_remote_state.other.outputs.word }
`
	}
	allowed := inline(ns, "allowed", reading(states.URL), auto, func(o *infrav1.Terraform) {})
	y.create(t, allowed)
	y.await(t, allowed, "it is applied", ready)
	refused := inline(ns, "refused", reading("http://169.254.169.254"), auto, func(o *infrav1.Terraform) {})
	y.create(t, refused)
	seen := y.await(t, refused, "it says why", func(o *infrav1.Terraform) bool {
		return strings.Contains(condition(o, infrav1.ConditionReady).Message, "does not allow 169.254.169.254:80, which is link-local, multicast or a metadata service")
	})
	t.Log(condition(seen, infrav1.ConditionReady).Message)
}
