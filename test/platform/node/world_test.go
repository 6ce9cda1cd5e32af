// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

var (
	kubeNode  = flag.String("kube-node", "", "the program kube-node")
	providers = flag.String("providers", "", "a mirror of the provider gavinbunney/kubectl")
	images    = flag.String("images", "", "the directory with Yuba's images, an OCI layout of \"make image\"")
)

// tag is that of the images in this test; "make test-platform" builds them.
const tag = "v0.0.0-test"

// world is a node, a copy of the modules, and where tofu runs.
type world struct {
	t          *testing.T
	root, dir  string
	modules    string
	kubeconfig string
	// inline is the kubeconfig with its certificates in it, as a call home brings one.
	inline string
	env    []string
	began  time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if *kubeNode == "" || *providers == "" || *images == "" {
		t.Fatal("this test needs a real node. Run it with\n    make test-platform")
	}
	w := &world{t: t, root: tofutest.RepositoryRoot(t), dir: t.TempDir(), began: time.Now()}
	node := filepath.Join(w.dir, "node")
	w.modules, w.kubeconfig = filepath.Join(w.dir, "modules"), filepath.Join(node, "admin.kubeconfig")
	if err := os.CopyFS(w.modules, os.DirFS(filepath.Join(w.root, "examples", "platform", "modules"))); err != nil {
		t.Fatal(err)
	}
	rc := filepath.Join(w.dir, "tofurc")
	w.write(rc, fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", *providers))
	w.env = []string{"HOME=" + w.dir, "PATH=" + filepath.Join(w.root, "bin") + ":" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "TF_IN_AUTOMATION=1", "KUBECONFIG=" + w.kubeconfig}
	t.Cleanup(func() {
		if t.Failed() {
			w.report()
		}
		if out, err := exec.Command(*kubeNode, "down", node).CombinedOutput(); err != nil {
			t.Errorf("stop the node: %v: %s", err, out)
		}
	})
	w.must("", *kubeNode, "up", node)
	w.inline = w.kubectl("config", "view", "--raw", "--flatten")
	w.say("the node is Ready")
	return w
}

// as lets a test of a component use the world until the returned function is called.
func (w *world) as(t *testing.T) (back func()) {
	all := w.t
	w.t = t
	return func() { w.t = all }
}

func (w *world) say(what string) {
	w.t.Logf("%6.1f s: %s", time.Since(w.began).Seconds(), what)
}

// report says what a failed test leaves behind.
func (w *world) report() {
	for _, args := range [][]string{{"get", "pods", "--all-namespaces", "-o", "wide"}, {"get", "events", "--all-namespaces", "--field-selector", "type=Warning"},
		{"logs", "-n", "yuba-system", "deployment/yuba", "--tail=20"}, {"logs", "-n", "vault", "vault-0", "--tail=20"}, {"logs", "-n", "vaults", "vault-0", "--tail=20"}, {"logs", "call-home", "--all-containers"}} {
		cmd := exec.Command(filepath.Join(w.root, "bin", "yuba"), append([]string{"kubectl"}, args...)...)
		cmd.Env = w.env
		out, err := cmd.CombinedOutput()
		w.t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// run runs a program with some input, and returns all that it says.
func (w *world) run(input, name string, args ...string) (string, error) {
	cmd := w.command(name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) command(name string, args ...string) *exec.Cmd {
	if !strings.Contains(name, "/") {
		if path := filepath.Join(w.root, "bin", name); exists(path) {
			name = path
		}
	}
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	cmd.Dir, cmd.Env = w.root, w.env
	return cmd
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// must runs a program that must succeed, and returns its answer.
func (w *world) must(input, name string, args ...string) string {
	w.t.Helper()
	cmd := w.command(name, args...)
	var out, news bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &news
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), news.String())
	}
	return out.String()
}

// golang runs go with this machine's module cache.
func (w *world) golang(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	return w.must("", "yuba", append([]string{"kubectl"}, args...)...)
}

// object applies manifests.
func (w *world) object(text string) {
	w.t.Helper()
	w.must(text, "yuba", "kubectl", "apply", "--server-side", "-f", "-")
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// apply applies a module with tofu, checks that another plan is empty, and returns an output.
func (w *world) apply(module, output string, variables map[string]any) json.RawMessage {
	w.t.Helper()
	text, err := json.Marshal(variables)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join(w.modules, module, "terraform.tfvars.json"), string(text))
	began := time.Now()
	for _, args := range [][]string{{"init", "-no-color", "-input=false"}, {"apply", "-no-color", "-input=false", "-auto-approve"}} {
		if out, err := w.tofu(module, args...); err != nil {
			w.t.Fatalf("tofu %s in %s: %v\n%s", args[0], module, err, out)
		}
	}
	took := time.Since(began)
	if out, err := w.tofu(module, "plan", "-no-color", "-input=false", "-detailed-exitcode"); err != nil {
		w.t.Errorf("another plan of %s: %v\n%s", module, err, out)
	}
	out, err := w.tofu(module, "output", "-json", output)
	if err != nil {
		w.t.Fatal(out)
	}
	w.say(fmt.Sprintf("the module %s is applied, in %.1f s, and another plan is empty", module, took.Seconds()))
	return json.RawMessage(out)
}

func (w *world) tofu(module string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.t.Context(), tofutest.Tofu(w.t), args...)
	cmd.Dir, cmd.Env = filepath.Join(w.modules, module), w.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// eventually waits until f succeeds.
func (w *world) eventually(limit time.Duration, what string, f func() error) {
	w.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// address is this machine's on the bridge of the node, which Pods reach.
func (w *world) address() string {
	w.t.Helper()
	u, err := url.Parse(strings.TrimSpace(w.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")))
	if err != nil {
		w.t.Fatal(err)
	}
	return u.Hostname()
}
