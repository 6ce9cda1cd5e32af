// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/platform/callhome"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// node is what a module of machines gives a node.
type node struct{ URL, CA, Token string }

// callHome puts the kubeconfig of a cluster as a node does, and returns the answer's code.
func (n node) callHome(t *testing.T, server string) int {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(n.CA)) {
		t.Fatalf("the node has no certificate authority: %q", n.CA)
	}
	kubeconfig := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: of-the-cluster}}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n", server, base64.StdEncoding.EncodeToString([]byte(n.CA)))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, n.URL, strings.NewReader(kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+n.Token)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close() //nolint:errcheck // the code is all
	return answer.StatusCode
}

// The first node hands over the kubeconfig of its cluster, with what the stack of the machines gave it, and the phase
// kubernetes goes on. From then on nobody has the token, and the machines stay as they are.
func TestABootstrapWaitsForTheCallHome(t *testing.T) {
	p := newPlatform(t)
	p.module("local/machines", `
variable "call_home" { type = object({ url = string, ca = string }) }
variable "call_home_token" {
  type      = string
  sensitive = true
  default   = ""
}
resource "yubatest_object" "node" {
  name    = "${var.platform}-node-0"
  content = jsonencode({ URL = var.call_home.url, CA = var.call_home.ca, Token = var.call_home_token })
  lifecycle { ignore_changes = [content] }
}
output "machines" { value = { api_endpoint = "https://203.0.113.7:6443", addresses = ["203.0.113.7"] } }
`)
	p.module("kubernetes", `
variable "kubeconfig" {
  type      = string
  sensitive = true
}
resource "yubatest_object" "cluster" {
  name    = "${var.platform}-cluster-0"
  content = yamldecode(var.kubeconfig).clusters[0].cluster.server
}
`)
	p.write(oneRegion)
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	bootstrap := p.command(p.from("--call-home-address", address)...)
	out, err := bootstrap.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bootstrap.Start(); err != nil {
		t.Fatal(err)
	}
	var first node
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		var e bootstrapEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if first.URL == "" && e.Phase == "eu/kubernetes" && strings.Contains(e.Message, "acme-eu-kubeconfig") {
			first = p.firstNode()
			if code := first.callHome(t, "https://203.0.113.7:6443"); code != http.StatusNoContent {
				t.Fatalf("the node has the answer %d", code)
			}
			if code := first.callHome(t, "https://198.51.100.66:6443"); code != http.StatusUnauthorized {
				t.Errorf("a second call has the answer %d", code)
			}
		}
	}
	if err := bootstrap.Wait(); err != nil {
		t.Fatalf("%v; the bootstrap said\n%s", err, strings.Join(said, "\n"))
	}
	if first.URL == "" {
		t.Fatalf("the phase kubernetes did not wait; the bootstrap said\n%s", strings.Join(said, "\n"))
	}
	if cluster, _ := p.cloud.Object("acme-eu-cluster-0"); cluster.Content != "https://203.0.113.7:6443" {
		t.Errorf("the phase kubernetes has the kubeconfig of %q", cluster.Content)
	}
	if strings.Contains(strings.Join(said, ""), first.Token) {
		t.Error("the bootstrap shows the token")
	}
	p.tokenIsGone(address)
	if n := p.cloud.Count("PUT", "acme-eu-node-0"); n != 1 {
		t.Errorf("the machine was written %d times", n)
	}
}

// firstNode is what the first node was given.
func (p *platform) firstNode() (n node) {
	p.Helper()
	machine, _ := p.cloud.Object("acme-eu-node-0")
	if err := json.Unmarshal([]byte(machine.Content), &n); err != nil || n.Token == "" {
		p.Fatalf("the node has %q: %v", machine.Content, err)
	}
	return n
}

// tokenIsGone starts a server on the home, and checks that the kubeconfig is there and the token is not.
func (p *platform) tokenIsGone(address string) {
	p.Helper()
	y, err := launch(p.home, "--tofu", tofutest.Tofu(p.T), "--call-home-address", address)
	if err != nil {
		p.Fatal(err)
	}
	y.endsWith(p.T)
	secret := func(name string) (s corev1.Secret) {
		if err := y.client.Get(p.Context(), types.NamespacedName{Namespace: "default", Name: name}, &s); err != nil {
			p.Fatal(err)
		}
		return s
	}
	for deadline := time.Now().Add(patience); len(secret("acme-eu-machine-tokens").Data[callhome.TokenKey]) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatal("the token is still there")
		}
	}
	ticket, tokens := secret("acme-eu-kubeconfig"), secret("acme-eu-machine-tokens")
	if callhome.StateOf(&ticket, time.Now()) != callhome.Arrived || len(tokens.Data["join_token"]) == 0 {
		p.Error("the kubeconfig or the token of the machines is missing")
	}
}
