// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/home/pki"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// certified is a certificate for this machine's address, and the file of its authority.
func certified(t *testing.T) (leaf pki.Leaf, ca string) {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.OpenAuthority(filepath.Join(dir, "ca"), "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf = pki.Leaf{Base: filepath.Join(dir, "tls"), CommonName: "test", Hosts: []string{"127.0.0.1"}, Life: time.Hour}
	if _, err := authority.Keep(leaf, time.Now()); err != nil {
		t.Fatal(err)
	}
	return leaf, authority.File()
}

// serving is a "yuba registry serve".
type serving struct {
	cmd *exec.Cmd
	log proctest.Log
}

func (s *serving) stop() {
	s.cmd.Process.Kill() //nolint:errcheck // it may be gone already
	s.cmd.Wait()         //nolint:errcheck // killed, of course
}

// serveRegistry starts the registry alone, with these variables and no others.
func serveRegistry(t *testing.T, env []string, args ...string) *serving {
	t.Helper()
	s := &serving{cmd: exec.Command(filepath.Join(programs, "yuba"), append([]string{"registry", "serve"}, args...)...)}
	s.cmd.Env = append([]string{"HOME=" + t.TempDir(), "YUBA_DATA_DIR=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	if err := proctest.Start(s.cmd, "The registry is ready", &s.log, patience); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// initFrom has the real tofu install acme/vpc/aws from a registry, and returns what it prints.
func initFrom(t *testing.T, host, ca, token string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.tf": fmt.Sprintf("module \"vpc\" {\n  source  = \"%s/acme/vpc/aws\"\n  version = \"~> 1.0\"\n}\n", host),
		"tofu.rc": fmt.Sprintf("credentials %q {\n  token = %q\n}\n", host, token),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), tofutest.Tofu(t), "init", "-no-color")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + ca, "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "tofu.rc"), "TF_REGISTRY_DISCOVERY_RETRY=0"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// s3 is a real S3 server, and what it was asked for.
type s3 struct {
	url string
	mu  sync.Mutex
	got []string
}

// bucket is the name of its bucket.
const bucket = "modules"

func startS3(t *testing.T) *s3 {
	t.Helper()
	program := filepath.Join(tofutest.RepositoryRoot(t), "bin", "versitygw")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("there is no S3 server. Build it:\n    make bin/versitygw")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	address, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--port", address, "posix", dir)
	cmd.Env = []string{"ROOT_ACCESS_KEY=yuba", "ROOT_SECRET_KEY=only-for-tests", "HOME=" + dir}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may be gone already
		cmd.Wait()         //nolint:errcheck // killed, of course
	})
	s := &s3{}
	to := &url.URL{Scheme: "http", Host: address}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature covers it
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, r.In.Method+" "+r.In.URL.RequestURI())
	}}
	counting := httptest.NewServer(proxy)
	t.Cleanup(counting.Close)
	s.url = counting.URL
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if r, err := http.Get(to.String()); err == nil {
			r.Body.Close()
			return s
		} else if time.Now().After(deadline) {
			t.Fatalf("the S3 server does not start: %v", err)
		}
	}
}

// take returns the requests since the last call.
func (s *s3) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

// TestTheRegistryAloneWithTheVariablesOfBoringRegistry starts it as boring-registry is started, on S3.
func TestTheRegistryAloneWithTheVariablesOfBoringRegistry(t *testing.T) {
	store := startS3(t)
	leaf, ca := certified(t)
	host, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"AWS_ACCESS_KEY_ID=yuba", "AWS_SECRET_ACCESS_KEY=only-for-tests", "AWS_EC2_METADATA_DISABLED=true",
		"BORING_REGISTRY_STORAGE_S3_BUCKET=" + bucket, "BORING_REGISTRY_STORAGE_S3_REGION=us-east-1", "BORING_REGISTRY_STORAGE_S3_PATHSTYLE=true",
		"BORING_REGISTRY_STORAGE_S3_ENDPOINT=" + store.url, "BORING_REGISTRY_STORAGE_S3_PREFIX=live",
		"BORING_REGISTRY_LISTEN_ADDRESS=" + host, "BORING_REGISTRY_TLS_CERT_FILE=" + leaf.CertificateFile(), "BORING_REGISTRY_TLS_KEY_FILE=" + leaf.KeyFile(),
		"BORING_REGISTRY_AUTH_STATIC_TOKEN=first, second", "BORING_REGISTRY_LISTEN_TELEMETRY_ADDRESS=:7801"}

	// A token of Yuba's publishes, because those of boring-registry only read.
	tokens := filepath.Join(t.TempDir(), "tokens")
	writer := strings.TrimSpace(mustYuba(t, "registry", "token", "create", "ci", "--write", "acme", "--file", tokens))
	server := serveRegistry(t, env, "--tokens", tokens)
	alone := &ownRegistry{host: host}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("output \"is\" {\n  value = 1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]string{"second": "may not update modules", "none": "the token is not valid", writer: ""} {
		if _, news, code := alone.elsewhere(t, ca, token, "registry", "push", dir, "acme/vpc/aws@1.2.0"); (code == 0) != (want == "") || !strings.Contains(news, want) {
			t.Errorf("push, want %q: exit %d, %s", want, code, news)
		}
	}
	archive := "PUT /" + bucket + "/live/modules/acme/vpc/aws/acme-vpc-aws-1.2.0.tar.gz"
	if got := store.take(); !slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, archive) }) {
		t.Errorf("no %s:\n%s", archive, strings.Join(got, "\n"))
	}

	for _, token := range []string{"first", "second", writer} {
		if out, err := initFrom(t, host, ca, token); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if out, err := initFrom(t, host, ca, "third"); err == nil || !strings.Contains(out, "401") {
		t.Errorf("another token: %v\n%s", err, out)
	}

	// Requests to the bucket: an init reads the archive, and nothing else.
	store.take()
	if out, err := initFrom(t, host, ca, "first"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	warm := store.take()
	t.Logf("requests to the bucket of an init: %v", warm)
	if len(warm) != 1 || !strings.HasPrefix(warm[0], "GET /"+bucket+"/live/modules/acme/vpc/aws/acme-vpc-aws-1.2.0.tar.gz") {
		t.Errorf("an init made these requests to the bucket:\n%s", strings.Join(warm, "\n"))
	}
	server.stop()
	store.take()
	again := serveRegistry(t, env)
	started := store.take()
	if out, err := initFrom(t, host, ca, "first"); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, again.log.Text())
	}
	t.Logf("requests to the bucket of a start: %v, and of the first init after it: %v", started, store.take())
	if strings.Contains(server.log.Text(), writer) {
		t.Error("the log has a token")
	}
}

// mustYuba runs a command that needs no server.
func mustYuba(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "yuba"), args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("yuba %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// TestTheRegistryAloneOnADirectory uses the certificate that it makes, and static tokens by namespace.
func TestTheRegistryAloneOnADirectory(t *testing.T) {
	store, data := t.TempDir(), t.TempDir()
	tokens := filepath.Join(t.TempDir(), "tokens")
	create := func(args ...string) string {
		return strings.TrimSpace(mustYuba(t, append([]string{"registry", "token", "create", "--file", tokens}, args...)...))
	}
	writer, reader, other := create("ci", "--write", "acme"), create("laptop", "--read", "acme"), create("other", "--read", "beta")
	text, err := os.ReadFile(tokens)
	if err != nil || strings.Contains(string(text), writer) {
		t.Errorf("the file has the token: %v", err)
	}
	host, err := proctest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	serveRegistry(t, nil, "--data-dir", data, "--store", "file://"+store, "--tokens", tokens, "--address", host)
	ca := filepath.Join(data, "keys", "registry-ca.crt")
	alone := &ownRegistry{host: host}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("output \"is\" {\n  value = 1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ what, token, name, want string }{
		{"a reader", reader, "acme/vpc/aws@1.2.0", "may not update modules"},
		{"a writer in another namespace", writer, "beta/vpc/aws@1.2.0", "may not update modules"},
		{"a writer", writer, "acme/vpc/aws@1.2.0", ""},
	} {
		if _, news, code := alone.elsewhere(t, ca, test.token, "registry", "push", dir, test.name); (code == 0) != (test.want == "") || !strings.Contains(news, test.want) {
			t.Errorf("%s pushes: exit %d, %s", test.what, code, news)
		}
	}
	if _, err := os.Stat(filepath.Join(store, "modules", "acme", "vpc", "aws", "acme-vpc-aws-1.2.0.tar.gz")); err != nil {
		t.Error(err)
	}
	if out, err := initFrom(t, host, ca, reader); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := initFrom(t, host, ca, other); err == nil || !strings.Contains(out, "403") {
		t.Errorf("who reads another namespace: %v\n%s", err, out)
	}
}

// TestTheRegistryAloneForEverybody serves modules and the mirror without tokens, but lets nobody without one
// fill the bucket.
func TestTheRegistryAloneForEverybody(t *testing.T) {
	for name, c := range map[string]struct {
		env, args []string
		want      int
	}{
		"only what the mirror has":                 {nil, []string{"--anonymous-read", "--mirror-offline"}, http.StatusNotFound},
		"some providers":                           {nil, []string{"--anonymous-read", "--mirror-allow", "registry.opentofu.org/hashicorp/*"}, http.StatusForbidden},
		"all providers need a token":               {nil, []string{"--anonymous-read"}, http.StatusUnauthorized},
		"as boring-registry, without pull-through": {[]string{"BORING_REGISTRY_NETWORK_MIRROR=true"}, nil, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			host, err := proctest.FreeAddress()
			if err != nil {
				t.Fatal(err)
			}
			serveRegistry(t, c.env, append(c.args, "--address", host, "--plain-http")...)
			for path, want := range map[string]int{"/v1/modules/acme/vpc/aws/versions": http.StatusNotFound, "/v1/mirror/registry.invalid/acme/thing/index.json": c.want} {
				answer, err := http.Get("http://" + host + path)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
				if answer.StatusCode != want {
					t.Errorf("%s: %s, want %d", path, answer.Status, want)
				}
			}
		})
	}
}

// TestTheRegistryAloneRefusesWhatItCannotFollow does not start with variables without which it would
// be open.
func TestTheRegistryAloneRefusesWhatItCannotFollow(t *testing.T) {
	for variable, want := range map[string]string{
		"BORING_REGISTRY_AUTH_OIDC_ISSUER=https://login.example.com": "BORING_REGISTRY_AUTH_OIDC_ISSUER is not supported",
		"BORING_REGISTRY_STORAGE_MODULE_ARCHIVE_FORMAT=zip":          "only tar.gz is supported",
		"BORING_REGISTRY_NETWORK_MIRROR=maybe":                       "want true or false",
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "yuba"), "registry", "serve", "--anonymous-read")
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), variable}
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", variable, err, out)
		}
	}
}
