// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

const commandsPage = "docs/how-to/tofu-commands.md"

// commandRow is a row of the page: a command of tofu, and those in its place. A pipe in a cell is escaped.
type commandRow struct{ tofu, environment, stack string }

func commandRows(t *testing.T) (rows []commandRow) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tofutest.RepositoryRoot(t), commandsPage))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "-") || cells[1] == " tofu " {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.ReplaceAll(cells[i], "\x00", "|"), " `")
		}
		rows = append(rows, commandRow{cells[1], cells[2], cells[3]})
	}
	return rows
}

const ofCommands = `variable "size" { type = string }
resource "terraform_data" "main" { input = var.size }
resource "terraform_data" "old" { input = "old" }
output "size" { value = terraform_data.main.output }
`

// Each command in place of one of tofu works, on an environment and on a stack.
func TestTheCommandsOfTofu(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/staging/main.tf", ofCommands)
	p.write("environments/staging/terraform.tfvars", "size = \"small\"\n")
	p.write("environments/staging/size.tftest.hcl", "run \"size\" {\n  assert {\n    condition = output.size == \"small\"\n    error_message = \"it is another one\"\n  }\n}\n")
	p.up()
	for _, row := range commandRows(t) {
		t.Run(strings.ReplaceAll(row.tofu, " ", "-"), func(t *testing.T) {
			q := *p
			q.t = t
			q.prepare(row)
			for _, line := range []string{row.environment, row.stack} {
				if line != "" {
					q.line(line, row.tofu == "force-unlock")
				}
			}
		})
		if t.Failed() {
			return // the others need what it did
		}
	}
}

// prepare does what somebody does before a command.
func (p *person) prepare(row commandRow) {
	p.t.Helper()
	switch row.tofu {
	case "plan -replace": // from here on states are changed
		p.must("suspend", "staging")
	case "state push":
		p.write("environments/staging/pulled.tfstate", p.must("env", "tofu", "staging", "state", "pull").out)
		p.write("pulled-from-stack.tfstate", strings.Replace(p.must("state", "pull", "staging").out, `"serial": `, `"serial": 1`, 1))
	case "providers mirror":
		p.write("environments/staging/mirror/.keep", "")
	case "destroy":
		p.must("resume", "staging")
	}
}

// line runs a line of a shell.
func (p *person) line(line string, fails bool) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = p.dir, append(slices.Clone(p.env), "PATH="+p.bin+":/usr/bin:/bin")
	out, err := cmd.CombinedOutput()
	if (err != nil) != fails {
		p.t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// listed are the commands that a help lists.
var listed = regexp.MustCompile(`(?m)^ {2,4}([a-z][a-z-]+)  `)

// No command of tofu is without a row.
func TestEachCommandOfTofuHasARow(t *testing.T) {
	var names []string
	help := func(words ...string) []string {
		cmd := exec.Command(tofutest.Tofu(t), append(words, "-help")...)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		out, _ := cmd.Output() //nolint:errcheck // the help of some ends with 127
		var found []string
		for _, m := range listed.FindAllStringSubmatch(string(out), -1) {
			found = append(found, strings.Join(append(slices.Clone(words), m[1]), " "))
		}
		return found
	}
	for _, name := range help() {
		switch name {
		case "state", "workspace":
			names = append(names, help(name)...)
		case "providers":
			names = append(append(names, name), help(name)...)
		default:
			names = append(names, name)
		}
	}
	const least = 30
	if len(names) < least {
		t.Fatalf("the help lists %v", names)
	}
	rows := commandRows(t)
	for _, name := range names {
		if !slices.ContainsFunc(rows, func(r commandRow) bool { return r.tofu == name }) {
			t.Errorf("%s has no row for tofu %s", commandsPage, name)
		}
	}
}
