// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pageTimeout is the time limit of a page; the slowest takes a few seconds on an idle machine.
const pageTimeout = 4 * time.Minute

// page is a file with commands.
type page struct {
	// path is relative to the repository.
	path string
	// dir is the working directory of the commands, relative to a copy of the repository's root.
	dir string
}

func TestCommandsOfThePagesWork(t *testing.T) {
	pages := findPages(t)
	y := startYuba(t)
	t.Run("pages", func(t *testing.T) { // waits for the parallel pages before the server stops
		for _, p := range pages {
			script := shellBlocks(t, p.path)
			if script == "" {
				continue
			}
			t.Run(p.path, func(t *testing.T) {
				t.Parallel()
				y.run(t, p, script)
			})
		}
	})
}

// findPages lists the README, the pages of docs/ and the READMEs of examples/.
func findPages(t *testing.T) []page {
	t.Helper()
	pages := []page{{"README.md", "."}}
	for _, pattern := range []string{"docs/*.md", "docs/how-to/*.md", "docs/reference/*.md", "docs/reference/cli/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			p := page{path: strings.TrimPrefix(filepath.ToSlash(path), "../"), dir: "examples"}
			if strings.HasPrefix(p.path, "examples/") {
				p.dir = filepath.Dir(p.path)
			}
			pages = append(pages, p)
		}
	}
	return pages
}

// shellBlocks joins the blocks of a page into one script, which prints the line of each block.
func shellBlocks(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	fence := ""
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = strings.TrimSpace(line)
			if fence == "```sh" {
				fmt.Fprintf(&script, "echo '--- %s:%d' >&2\n", path, i+1)
			}
		case strings.TrimSpace(line) == "```":
			fence = ""
		case fence == "```sh":
			script.WriteString(line + "\n")
		}
	}
	if fence != "" {
		t.Errorf("%s: a block has no end", path)
	}
	return script.String()
}

// yuba is a server, started like by a user.
type yuba struct {
	bin, kubeconfig, dataDir string
	// pages contains the working directories of the pages; repositories and SQLite files there can be
	// sources.
	pages string
	// web is the address that the server prints as Web.
	web string
}

func startYuba(t *testing.T) yuba {
	t.Helper()
	bin, err := filepath.Abs("../bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"yuba", "yuba-runner", "yuba-sandbox", "sqlite3"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Fatalf("bin/%s is missing: run `make build tofu sqlite3` first", name)
		}
	}
	y := yuba{bin: bin, dataDir: filepath.Join(t.TempDir(), "data"), pages: t.TempDir()}
	y.kubeconfig = filepath.Join(y.dataDir, "kubeconfig")
	cmd := exec.Command(filepath.Join(bin, "yuba"), "up", "--data-dir", y.dataDir, "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0",
		"--file-sources", y.pages, "--sqlite-sources", y.pages)
	cmd.Env = y.environment(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "yuba.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the child has its own
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop yuba: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("yuba up ended with: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		// The line with the tool is the last one of its start.
		word, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		switch word {
		case "Webhooks":
			y.web = strings.TrimSpace(value)
		case "Tool":
			go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
			return y
		}
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("yuba up did not become ready:\n%s", text)
	return y
}

func (y yuba) environment(t *testing.T) []string {
	t.Helper()
	return []string{
		"PATH=" + y.bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "NO_COLOR=1",
	}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// run runs a page's script in its own namespace and directory.
func (y yuba) run(t *testing.T, p page, script string) {
	t.Helper()
	dir, err := os.MkdirTemp(y.pages, "page-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../examples")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "kubeconfig")
	text, err := os.ReadFile(y.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	namespace := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(strings.TrimSuffix(p.path, ".md")), "-"), "-")
	setup := fmt.Sprintf("yuba kubectl create namespace %s\nyuba kubectl config set-context --current --namespace=%s\n", namespace, namespace)

	ctx, cancel := context.WithTimeout(t.Context(), pageTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", setup+script)
	cmd.Dir = filepath.Join(dir, p.dir)
	cmd.Env = append(y.environment(t), "KUBECONFIG="+config, "YUBA_DATA_DIR="+y.dataDir, "WEB="+y.web)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("a command of %s: %v. What it said, after the line of its block:\n%s", p.path, err, out)
		return
	}
	t.Logf("%s", out)
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	for _, p := range findPages(t) {
		text, err := os.ReadFile(filepath.Join("..", p.path))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target := filepath.Join("..", filepath.Dir(p.path), found[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", p.path, found[1])
			}
		}
	}
}

func TestEveryPageIsInTheMap(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range findPages(t) {
		target, inDocs := strings.CutPrefix(p.path, "docs/")
		switch {
		case p.path == "README.md" || p.path == "docs/README.md" || strings.HasPrefix(target, "reference/cli/"):
			continue
		case !inDocs:
			target = "../" + p.path
		}
		if !strings.Contains(string(text), "("+target+")") {
			t.Errorf("docs/README.md does not lead to %s", p.path)
		}
	}
}
