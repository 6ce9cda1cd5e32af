// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/opentofu"
	"github.com/yuba-dev/yuba/internal/testkit/releasetest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// tools are the programs that install.sh needs. Yuba needs none.
var tools = []string{"sh", "awk", "cat", "chmod", "cp", "curl", "cut", "gzip", "id", "mkdir", "mktemp", "mv", "rm", "sed", "sha256sum", "tar", "uname"}

const program = `variable "name" {
  type = string
}

resource "terraform_data" "greeting" {
  input = "Hello, ${var.name}!"
}

output "greeting" {
  value = terraform_data.greeting.output
}
`

func TestFromAReleaseToTheFirstStack(t *testing.T) {
	n := newcomer{t: t, home: t.TempDir(), began: time.Now()}
	n.env = []string{"HOME=" + n.home, "TMPDIR=" + os.TempDir(), "PATH=" + filepath.Join(n.home, ".local", "bin") + ":" + onlyTools(t), "NO_COLOR=1"}
	n.env = append(n.env, "YUBA_DOWNLOAD_URL="+serveRelease(t))
	releases := serveTofu(t)
	n.env = append(n.env, "YUBA_TOOLS_URL="+releases.URL, "YUBA_TOOLS_KEY="+releases.KeyFile)

	n.began = time.Now()
	n.do("sh", filepath.Join(tofutest.RepositoryRoot(t), "install.sh"), "--prefix", filepath.Join(n.home, ".local"))
	n.lap("installed")
	n.up()
	n.lap("Yuba is ready, with a tofu that it fetched")
	hello := filepath.Join(n.home, "hello")
	if err := os.Mkdir(hello, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hello, "main.tf"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	n.do("yuba", "deploy", hello, "--name", "hello", "--var", "name=world", "--yes")
	n.lap("the first stack is applied")
	if out := n.do("yuba", "outputs", "hello"); !strings.Contains(out, "Hello, world!") {
		t.Errorf("the outputs are\n%s", out)
	}
}

// newcomer is a person on a machine without Yuba.
type newcomer struct {
	t     *testing.T
	home  string
	env   []string
	began time.Time
}

// lap prints the time since the start.
func (n *newcomer) lap(what string) { n.t.Logf("%6.1f s: %s", time.Since(n.began).Seconds(), what) }

func (n *newcomer) command(name string, args ...string) *exec.Cmd {
	for _, variable := range n.env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			for _, dir := range filepath.SplitList(path) {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					name = filepath.Join(dir, name)
					break
				}
			}
		}
	}
	cmd := exec.CommandContext(n.t.Context(), name, args...)
	cmd.Env, cmd.Dir = n.env, n.home
	return cmd
}

func (n *newcomer) do(name string, args ...string) string {
	n.t.Helper()
	out, err := n.command(name, args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// up starts Yuba, and waits until it is ready.
func (n *newcomer) up() {
	n.t.Helper()
	var news bytes.Buffer
	up := n.command("yuba", "up", "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0")
	cmd := &exec.Cmd{Path: up.Path, Args: up.Args, Env: up.Env, Dir: up.Dir} // it is stopped after the test's context has ended
	cmd.Stderr = &news
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(ready)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if tool, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Tool:"); ok {
				ready <- tool
			}
		}
	}()
	n.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		for range ready { //nolint:revive // until it has said everything
		}
		if err := cmd.Wait(); err != nil {
			n.t.Errorf("yuba up ended with: %v\n%s", err, news.String())
		}
	})
	tool, ok := <-ready
	if !ok {
		n.t.Fatal("yuba up did not become ready")
	}
	if want := filepath.Join(n.home, ".local", "share", "yuba", "tools", "tofu-"+opentofu.Pinned); !strings.Contains(tool, want) {
		n.t.Errorf("the tool is %s, want %s", tool, want)
	}
}

// onlyTools is a directory that contains only the required programs.
func onlyTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range tools {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("install.sh needs %s: %v", name, err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serveRelease packs the programs in bin/ as a release, and serves it.
func serveRelease(t *testing.T) string {
	t.Helper()
	root, dist := tofutest.RepositoryRoot(t), t.TempDir()
	pack := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join(root, "tools", "release"), ".", "-root", root, "-programs", filepath.Join(root, "bin"),
		"-platforms", runtime.GOOS+"/"+runtime.GOARCH, "-version", "v0.0.1-1-g0000000", "-date", fmt.Sprint(time.Now().Unix()), "-out", dist, "-packages=false")
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("pack a release: %v\n%s", err, out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(server.Close)
	return server.URL
}

// serveTofu serves the tofu of the tests as a signed release of OpenTofu.
func serveTofu(t *testing.T) *releasetest.Releases {
	t.Helper()
	content, err := os.ReadFile(tofutest.Tofu(t))
	if err != nil {
		t.Fatal(err)
	}
	releases := releasetest.New(t)
	releases.Publish(opentofu.Pinned, content)
	return releases
}

// Each library makes a program a little larger, without anybody noticing. docs/benchmarks.md has
// measurements.
func TestYubaIsNoLargerThanPromised(t *testing.T) {
	const most = 189_000_000 // bytes
	info, err := os.Stat(filepath.Join(tofutest.RepositoryRoot(t), "bin", "yuba"))
	if err != nil {
		t.Fatalf("%v\nBuild it:\n    make build", err)
	}
	if info.Size() > most {
		t.Errorf("bin/yuba has %d bytes, %d too many. What it links: go tool nm -size -sort size, of a build without -ldflags", info.Size(), info.Size()-most)
	}
}
