// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conform_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/contracts/conform"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// module is a root module in a directory of its own.
type module struct {
	t         *testing.T
	tofu, dir string
}

func (m module) write(text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "main.tf"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m module) run(args ...string) []byte {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(m.t.Context(), m.tofu, args...)
	command.Dir, command.Stdout, command.Stderr = m.dir, &stdout, &stderr
	command.Env = []string{"HOME=" + m.dir, "PATH=/usr/bin:/bin", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
	if err := command.Run(); err != nil {
		m.t.Fatalf("tofu %v: %v\n%s", args, err, stderr.String())
	}
	return stdout.Bytes()
}

// planned plans and returns how the output base relates to the contract.
func (m module) planned(contract string) conform.Result {
	m.t.Helper()
	m.run("plan", "-input=false", "-out=plan")
	var show struct {
		Changes map[string]json.RawMessage `json:"output_changes"`
	}
	if err := json.Unmarshal(m.run("show", "-json", "plan"), &show); err != nil {
		m.t.Fatal(err)
	}
	output := document.Output{Gone: true}
	if change, found := show.Changes["base"]; found {
		var err error
		if output, err = document.Planned(change); err != nil {
			m.t.Fatal(err)
		}
	}
	return conform.Check(parse(m.t, contract), paths.Set{}, output)
}

func (m module) published(contract string) conform.Result {
	m.t.Helper()
	var outputs map[string]json.RawMessage
	if err := json.Unmarshal(m.run("output", "-json"), &outputs); err != nil {
		m.t.Fatal(err)
	}
	output, err := document.Published(outputs["base"])
	if err != nil {
		m.t.Fatal(err)
	}
	return conform.Check(parse(m.t, contract), paths.Set{}, output)
}

func (m module) expect(r conform.Result, outcome conform.Outcome, breaks, unknown string) {
	m.t.Helper()
	got := []string{string(r.Outcome()), texts(r.Breaks), texts(r.Unknown)}
	if diff := cmp.Diff([]string{string(outcome), breaks, unknown}, got); diff != "" {
		m.t.Error(diff)
	}
}

// The outputs of real plans and states, through the life of a producer.
func TestWithTofu(t *testing.T) {
	const contract = "object({vpc_id = string, subnets = set(string), ports = map(number), big = number, note = optional(string, \"none\")})"
	const resource = "resource \"terraform_data\" \"vpc\" {}\n"
	m := module{t, tofutest.Tofu(t), t.TempDir()}
	m.write(resource + `output "base" {
  value = {
    vpc_id  = terraform_data.vpc.id
    subnets = toset(["b", "a", terraform_data.vpc.id])
    ports   = tomap({ http = 80 })
    big     = 12345678901234567890123
    extra   = [1, "x"]
  }
}`)
	m.run("init", "-input=false")
	m.expect(m.planned(contract), conform.Unknown, "", "base.subnets[*] is unknown until the apply; base.vpc_id is unknown until the apply")
	m.run("apply", "-input=false", "plan")
	after := m.published(contract)
	m.expect(after, conform.Fits, "", "")
	planned := m.planned(contract)
	m.expect(planned, conform.Fits, "", "")
	// The digest of the revision is that of a later plan that changes nothing, although the plan has
	// a tuple where the state has a set.
	first, err := document.Digest(after.Value)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := document.Digest(planned.Value); err != nil || first != second {
		t.Errorf("published %s, planned %s, %v", first, second, err)
	}

	m.write(resource + `output "base" {
  value = { vpc_id = terraform_data.vpc.output, subnets = "a,b", ports = { http = "80" } }
}`)
	m.expect(m.planned(contract), conform.Breaks,
		"base.big is missing (number); base.ports.http is string, not number; base.subnets is string, not set; base.vpc_id is null (string is required)", "")

	m.write(resource + "output \"base\" {\n  value = sensitive(terraform_data.vpc.id)\n  sensitive = true\n}")
	m.expect(m.planned("string"), conform.Breaks, "base is sensitive, and the contract names no private path", "")

	m.write(resource)
	m.expect(m.planned(contract), conform.Breaks, "base is not an output any more", "")
}
