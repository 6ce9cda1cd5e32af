// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/standintest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// providers are those that the examples use.
var providers = []standintest.Standin{
	{Namespace: "hashicorp", Name: "aws", Version: "6.0.0"},
	{Namespace: "hashicorp", Name: "google", Version: "6.0.0"},
	{Namespace: "hashicorp", Name: "kubernetes", Version: "2.35.0"},
	{Namespace: "hashicorp", Name: "random", Version: "3.6.0"},
}

var mirror struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if mirror.dir != "" {
		_ = os.RemoveAll(filepath.Dir(mirror.dir)) //nolint:errcheck // a temporary directory
	}
	os.Exit(code)
}

// person is somebody with a repository, a home directory and yuba on PATH.
type person struct {
	t              *testing.T
	home, dir, bin string
	env            []string
}

// newPerson gives somebody a copy of the examples; with an empty name, an empty repository.
func newPerson(t *testing.T, example string) *person {
	t.Helper()
	p := &person{t: t, home: t.TempDir(), dir: filepath.Join(t.TempDir(), "live"), bin: filepath.Join(tofutest.RepositoryRoot(t), "bin")}
	for _, name := range []string{"yuba", "yuba-sandbox"} {
		if _, err := os.Stat(filepath.Join(p.bin, name)); err != nil {
			t.Fatalf("bin/%s is missing: run `make build` first", name)
		}
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "environments"), 0o755); err != nil {
		t.Fatal(err)
	}
	if example != "" {
		if err := os.CopyFS(p.dir, os.DirFS(filepath.Join(tofutest.RepositoryRoot(t), "examples", example))); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"HOME=" + p.home, "PATH=" + filepath.Dir(tofutest.Tofu(t)) + ":" + os.Getenv("PATH"), "NO_COLOR=1"}
	return p
}

// standins are the flags that make tofu use the stand-ins.
func (p *person) standins() []string {
	p.t.Helper()
	mirror.once.Do(func() {
		dir, err := os.MkdirTemp("", "yuba-standins-")
		if err != nil {
			mirror.err = err
			return
		}
		mirror.dir = filepath.Join(dir, "mirror")
		mirror.err = standintest.BuildAs(p.t, mirror.dir, providers)
	})
	if mirror.err != nil {
		p.t.Fatal(mirror.err)
	}
	tables, err := filepath.Abs("testdata/providers.json")
	if err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, standintest.EnvTables+"="+tables)
	return []string{"--provider-mirror", mirror.dir, "--pass", "STANDIN_*", "--readable", tables}
}

// write writes a file of the repository.
func (p *person) write(name, text string) {
	p.t.Helper()
	at := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// answer is what a command ended with.
type answer struct {
	out, err string
	code     int
}

func (a answer) all() string { return a.out + a.err }

// command prepares a command. No terminal, and nothing on standard input.
func (p *person) command(ctx context.Context, args ...string) (cmd *exec.Cmd, out, problems *bytes.Buffer) {
	cmd = exec.CommandContext(ctx, filepath.Join(p.bin, "yuba"), args...)
	out, problems = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, out, problems
	return cmd, out, problems
}

// commandTimeout is how long a command may take before it is said to hang.
const commandTimeout = 1 * time.Minute

// yuba runs a command.
func (p *person) yuba(args ...string) answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), commandTimeout)
	defer cancel()
	cmd, out, problems := p.command(ctx, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		p.t.Fatalf("yuba %s: %v %v\n%s%s", strings.Join(args, " "), err, ctx.Err(), out, problems)
	}
	return answer{out.String(), problems.String(), cmd.ProcessState.ExitCode()}
}

// must runs a command that succeeds.
func (p *person) must(args ...string) answer {
	p.t.Helper()
	a := p.yuba(args...)
	if a.code != 0 {
		p.t.Fatalf("yuba %s ended with %d\n%s", strings.Join(args, " "), a.code, a.all())
	}
	return a
}

// ends runs a command that ends with a code and says all of these.
func (p *person) ends(code int, says []string, args ...string) answer {
	p.t.Helper()
	a := p.yuba(args...)
	if a.code != code {
		p.t.Errorf("yuba %s ended with %d, want %d\n%s", strings.Join(args, " "), a.code, code, a.all())
	}
	for _, text := range says {
		if !strings.Contains(a.all(), text) {
			p.t.Errorf("yuba %s does not say %q:\n%s", strings.Join(args, " "), text, a.all())
		}
	}
	return a
}
