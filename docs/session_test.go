// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"errors"
	"flag"
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
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
)

var record = flag.Bool("record", false, "write the recorded terminal sessions instead of comparing with them")

// typed is a command of the session, with the input while it runs.
type typed struct {
	command string
	// answer is typed once the command has printed question.
	question, answer string
	// status is the expected exit status.
	status int
	// table is true if the command prints a table, which must fit the terminal.
	table bool
}

// yubaUp is the command in the first terminal. Its ports and directory are the test's own.
var yubaUp = typed{command: "yuba up", question: "Registry:", answer: "\x03"}

// firstTenMinutes are the commands of a new user, in a second terminal.
var firstTenMinutes = []typed{
	{command: "cat hello/main.tf"},
	{command: "yuba deploy hello --name hello --var name=world", question: "Enter a value:", answer: "yes"},
	{command: "yuba list", table: true},
	{command: "yuba status hello"},
	{command: "yuba outputs hello"},
	{command: "yuba deploy hello --name hello --var name=Yuba", question: "Enter a value:", answer: "no", status: 5},
	{command: "yuba pending", table: true},
	{command: "yuba approve hello --wait"},
	{command: "yuba state list hello", table: true},
	{command: "yuba apply hello", status: 2},
	{command: "yuba destroy hello", question: "Enter a value:", answer: "yes"},
	{command: "yuba delete hello"},
}

// The first ten minutes look as in the README, on a narrow terminal and on a wide one.
func TestTheFirstTenMinutes(t *testing.T) {
	y := startYuba(t)
	for _, columns := range []int{80, 120} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			compare(t, fmt.Sprintf("up-%d.txt", columns), y.start(t, columns))
			compare(t, fmt.Sprintf("first-%d.txt", columns), y.session(t, columns))
		})
	}
	t.Run("versions", func(t *testing.T) {
		for command, want := range map[string]string{
			"yuba --version":       `^yuba \S+\r\n$`,
			"yuba kubectl version": `(?s)^Client Version: v1\.[0-9]+\..*\nServer Version: v1\.[0-9]+\.[0-9]+\r\n$`,
		} {
			out, status := y.inTerminal(t, y.pages, 80, typed{command: command})
			if status != 0 || !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s ended with %d:\n%s", command, status, out)
			}
		}
	})
}

// compare compares the output with the recorded one, or records it.
func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("session", name)
	if *record {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("The first ten minutes look different from %s. If that is better, record them, and copy up-80.txt and first-80.txt into README.md:\n    go test -vet=off ./docs -run TheFirstTenMinutes -record\n%s", name, diff)
	}
}

func TestTheReadmeShowsTheSession(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"up-80.txt", "first-80.txt"} {
		session, err := os.ReadFile(filepath.Join("session", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), "```console\n"+string(session)+"```\n") {
			t.Errorf("README.md does not show docs/session/%s", name)
		}
	}
}

// start types "yuba up" in a terminal of this width and returns its output until Ctrl-C.
func (y yuba) start(t *testing.T, columns int) string {
	t.Helper()
	home, err := os.MkdirTemp("", "session-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home) //nolint:errcheck // below the directory of temporary files
	step := yubaUp
	step.command = "exec env HOME=" + home + " yuba up --api-address 127.0.0.1:0 --http-address 127.0.0.1:0 --registry-address 127.0.0.1:0"
	out, status := y.inTerminal(t, home, columns, step)
	if status != step.status {
		t.Fatalf("%s ended with %d:\n%s", step.command, status, out)
	}
	seen, end, found := strings.Cut(strings.ReplaceAll(out, home, "/home/you"), "^C")
	if end = strings.TrimSpace(end); end != "Stopping Yuba" {
		t.Errorf("on Ctrl-C yuba up prints:\n%s", end)
	}
	for _, w := range wherever {
		if found = found && w.pattern.MatchString(seen); found {
			seen = w.pattern.ReplaceAllString(seen, w.instead)
		}
	}
	if !found {
		t.Fatalf("yuba up prints something else:\n%s", out)
	}
	return "$ " + yubaUp.command + "\n" + lookOf(seen, columns)
}

// wherever are the parts of the output of "yuba up" that differ between machines, and their values
// on a new user's machine. Walls that the machine of the tests lacks have lines of their own.
var wherever = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(API: +https://127\.0\.0\.1:)[0-9]+`), "${1}7443"},
	{regexp.MustCompile(`(Page: +http://127\.0\.0\.1:)[0-9]+`), "${1}7080"},
	{regexp.MustCompile(`(Webhooks: +http://127\.0\.0\.1:)[0-9]+`), "${1}7080"},
	{regexp.MustCompile(`(Registry: +127\.0\.0\.1:)[0-9]+`), "${1}7447"},
	{regexp.MustCompile(`(Tool: +)/\S+/tofu \([0-9.]+\)`), "${1}/usr/local/bin/tofu (1.12.6)"},
	{regexp.MustCompile(`(Walls: +)[^\r\n]+(?:\r?\n +Missing: [^\r\n]+)*`), "${1}" + confinement.Walls{Namespaces: confinement.WithUser, Filter: true, Landlock: 7}.Summary()},
}

// session types the commands in a terminal of this width and returns the output.
func (y yuba) session(t *testing.T, columns int) string {
	t.Helper()
	dir, err := os.MkdirTemp(y.pages, "session-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "hello"), os.DirFS("session/hello")); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for _, step := range firstTenMinutes {
		out, status := y.inTerminal(t, dir, columns, step)
		if step.table {
			fits(t, step.command, out, columns)
		}
		fmt.Fprintf(&seen, "$ %s\n%s", step.command, lookOf(strings.ReplaceAll(out, dir, "/home/you"), columns))
		if status != step.status {
			t.Fatalf("%s ended with %d:\n%s", step.command, status, out)
		}
	}
	return seen.String()
}

// fits fails the test if a line of the table at the beginning of an output is wider than the
// terminal.
func fits(t *testing.T, command, out string, columns int) {
	t.Helper()
	table, _, _ := strings.Cut(strings.ReplaceAll(ansi.ReplaceAllString(out, ""), "\r\n", "\n"), "\n\n")
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
			t.Errorf("%s: %d characters do not fit into %d columns:\n%s", command, n, columns, line)
		}
	}
}

// inTerminal runs a command in a terminal and returns its output and exit status.
func (y yuba) inTerminal(t *testing.T, dir string, columns int, step typed) (string, int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", step.command)
	cmd.Dir = dir
	cmd.Env = append(y.environment(t), "KUBECONFIG="+y.kubeconfig, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: uint16(columns)})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close() //nolint:errcheck // nothing is written any more
	overdue := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer overdue.Stop()
	var out bytes.Buffer
	question := step.question
	for buffer := make([]byte, 4096); ; {
		n, err := terminal.Read(buffer)
		out.Write(buffer[:n])
		if question != "" && bytes.Contains(out.Bytes(), []byte(question)) {
			question = ""
			if _, err := io.WriteString(terminal, step.answer+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break // the end: Linux answers EIO
		}
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if question != "" {
		t.Fatalf("%s does not ask %q:\n%s", step.command, question, out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// changing are the parts of an output that differ between sessions. The replacements have the same
// length, so that columns stay aligned.
var changing = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "00000000-0000-0000-0000-000000000000"},
	{regexp.MustCompile(`\b[0-9]{8}-[0-9]{6}\.[0-9]{3}-[0-9a-f]{10}\b`), "20260102-030405.000-0123456789"},
	{regexp.MustCompile(`\b(?:[0-9]+m)?[0-9]+s\b`), "1s"},
}

// ansi matches color sequences.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// lookOf is an output as displayed on a terminal of this width.
func lookOf(out string, columns int) string {
	out = ansi.ReplaceAllString(out, "")
	for _, c := range changing {
		out = c.pattern.ReplaceAllString(out, c.instead)
	}
	var seen strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(strings.ReplaceAll(out, "\r\n", "\n"), "\n"), "\n") {
		line = line[strings.LastIndex(line, "\r")+1:]
		for utf8.RuneCountInString(line) > columns {
			cut := len(string([]rune(line)[:columns]))
			seen.WriteString(line[:cut] + "\n")
			line = line[cut:]
		}
		seen.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return seen.String()
}
