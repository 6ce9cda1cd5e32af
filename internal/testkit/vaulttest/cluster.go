// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaulttest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/home/pki"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// Member is one server of a Vault with integrated storage.
type Member struct {
	URL    string
	t      testing.TB
	config string
	cmd    *exec.Cmd
}

// Cluster starts servers of one Vault as Vault itself is started, each with a retry_join for all. They speak TLS, and end with the
// test. It returns the certificate authority, too.
func Cluster(t testing.TB, servers int) (all []*Member, authority []byte) {
	t.Helper()
	dir := t.TempDir()
	issuer, err := pki.OpenAuthority(filepath.Join(dir, "ca"), "vault", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf := pki.Leaf{Base: filepath.Join(dir, "tls"), Hosts: []string{"127.0.0.1"}, Life: time.Hour}
	if _, err := issuer.Keep(leaf, time.Now()); err != nil {
		t.Fatal(err)
	}
	api, peer := ports(t, servers), ports(t, servers)
	joins := ""
	for _, p := range api {
		joins += fmt.Sprintf("  retry_join {\n    leader_api_addr = \"https://%s\"\n    leader_ca_cert_file = %q\n  }\n", p, issuer.File())
	}
	for i := range servers {
		data := filepath.Join(dir, fmt.Sprint("data", i))
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		config := filepath.Join(dir, fmt.Sprintf("vault%d.hcl", i))
		text := fmt.Sprintf("api_addr = \"https://%s\"\ncluster_addr = \"https://%s\"\nlistener \"tcp\" {\n  address = %q\n  cluster_address = %q\n  tls_cert_file = %q\n  tls_key_file = %q\n}\nstorage \"raft\" {\n  path = %q\n  node_id = \"vault-%d\"\n%s}\n",
			api[i], peer[i], api[i], peer[i], leaf.CertificateFile(), leaf.KeyFile(), data, i, joins)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &Member{URL: "https://" + api[i], t: t, config: config}
		m.Start()
		t.Cleanup(m.Stop)
		all = append(all, m)
	}
	return all, issuer.PEM()
}

// Start starts the server, and waits until it serves.
func (m *Member) Start() {
	m.t.Helper()
	m.cmd = exec.Command(filepath.Join(tofutest.RepositoryRoot(m.t), "bin", "vault"), "server", "-config="+m.config) //nolint:noctx // it has its own end
	m.cmd.Env = []string{"HOME=" + m.t.TempDir()}
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != m.URL {
		m.t.Fatalf("Vault does not start: %q %v", line, err)
	}
}

// Stop kills the server.
func (m *Member) Stop() {
	if m.cmd != nil {
		m.cmd.Process.Kill() //nolint:errcheck // it may be gone
		m.cmd.Wait()         //nolint:errcheck // it was killed
		m.cmd = nil
	}
}

// ports are free addresses on loopback. All are open until the last one is known, so that they differ.
func ports(t testing.TB, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // only for its port
		all = append(all, l.Addr().String())
	}
	return all
}
