// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/testkit/s3test"
)

// up starts a server for the person's commands.
func (p *person) up() {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, "yuba"), "up", "--data-dir", filepath.Join(p.home, "data"), "--api-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", "--registry-address", "127.0.0.1:0")
	cmd.Env = p.env
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		_ = cmd.Wait()                          //nolint:errcheck // it was asked to end
	})
	p.env = append(p.env, "YUBA_DATA_DIR="+filepath.Join(p.home, "data"))
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(strings.TrimSpace(lines.Text()), "Tool:") { // the last line of its start
			go func() {
				for lines.Scan() {
				}
			}()
			return
		}
	}
	p.t.Fatalf("the server does not start: %v\n%s", lines.Err(), log.String())
}

const onS3 = `terraform {
  backend "s3" {
    bucket                      = "states"
    key                         = "staging.tfstate"
    region                      = "%s"
    use_lockfile                = true
    use_path_style              = true
    skip_credentials_validation = true
    skip_metadata_api_check     = true
    skip_requesting_account_id  = true
    skip_region_validation      = true
  }
}
resource "terraform_data" "x" { input = "one" }
`

// The state stays where it is, byte for byte, when a server takes an environment over; and both plan the same.
func TestAnEnvironmentMovesToAServerAndItsStateStays(t *testing.T) {
	s3 := s3test.New(t, "states")
	p := newPerson(t, "")
	p.env = append(p.env, s3.Environment()...)
	p.write("environments/staging/main.tf", fmt.Sprintf(onS3, s3test.Region))
	p.ends(0, []string{"1 added"}, "env", "apply", "staging", "--yes")
	before := s3.Object(t, "staging.tfstate")
	if len(before) == 0 {
		t.Fatal("there is no state in the bucket")
	}
	p.ends(0, []string{"disable: true", "path: ./environments/staging"}, "env", "connect", "staging", "-o", "yaml")
	p.up()
	p.ends(3, []string{"yuba env connect staging"}, "env", "plan", "staging", "--on-server")
	args := []string{"kubectl", "create", "secret", "generic", "bucket"}
	for _, e := range s3.Environment() {
		args = append(args, "--from-literal="+e)
	}
	p.must(args...)
	p.ends(0, []string{"Pushed"}, "env", "connect", "staging", "--env-from", "bucket")
	p.must("kubectl", "wait", "--for=condition=Ready", "tf/staging", "--timeout=55s")
	if after := s3.Object(t, "staging.tfstate"); !bytes.Equal(before, after) {
		t.Errorf("the state changed from\n%s\nto\n%s", before, after)
	}
	p.ends(0, nil, "env", "plan", "staging", "--on-server", "--detailed-exitcode")
	p.ends(0, nil, "env", "plan", "staging", "--detailed-exitcode")
	p.write("environments/staging/main.tf", strings.Replace(fmt.Sprintf(onS3, s3test.Region), "\"one\"", "\"two\"", 1))
	p.ends(2, []string{"terraform_data.x"}, "env", "plan", "staging", "--on-server", "--detailed-exitcode")
	p.ends(2, []string{"terraform_data.x"}, "env", "plan", "staging", "--detailed-exitcode")
	p.ends(6, []string{"environments.other.stack"}, "env", "connect", p.renamed("other", "staging"))
	p.notTaken()
}

// notTaken connects an environment of another repository with the same names, and one with another source.
func (p *person) notTaken() {
	p.t.Helper()
	digest := func() string {
		return p.must("kubectl", "get", "externalartifacts", "live", "-o", "jsonpath={.status.artifact.digest}").out
	}
	before := digest()
	other := *p
	other.dir = filepath.Join(p.t.TempDir(), "live")
	other.write("environments/staging/main.tf", fmt.Sprintf(onS3, s3test.Region)+"resource \"terraform_data\" \"theirs\" {}\n")
	other.ends(6, []string{"the stack default/staging is of the repository", "--replace"}, "env", "connect", "staging", "--env-from", "bucket")
	other.write("yuba.yaml", "environments: {staging: {stack: theirs}}\n")
	other.ends(6, []string{"the ExternalArtifact live is of the repository", "--replace"}, "env", "connect", "staging", "--env-from", "bucket")
	p.write("yuba.yaml", "environments: {}\n")
	p.ends(6, []string{"with the source ExternalArtifact/live in place of GitRepository/live"}, "env", "connect", "staging", "--source", "GitRepository/live")
	if after := digest(); after != before || before == "" {
		p.t.Errorf("another repository's files are there: %q, %q", before, after)
	}
	p.must("env", "connect", "staging", "--env-from", "bucket")
	for _, args := range [][]string{{"init", "-q"}, {"remote", "add", "origin", "https://person:secret@git.example.org/acme/Live.git"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = other.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			p.t.Fatalf("%v\n%s", err, out)
		}
	}
	other.must("env", "connect", "staging", "--env-from", "bucket", "--replace")
	if digest() == before {
		p.t.Error("--replace replaces nothing")
	}
	name := "jsonpath={.metadata.annotations.yuba\\.dev/repository}"
	for _, object := range []string{"externalartifacts/live", "tf/theirs"} {
		if got := p.must("kubectl", "get", object, "-o", name).out; got != "git.example.org/acme/live" {
			p.t.Errorf("%s is of %q", object, got)
		}
	}
}

// renamed makes another environment whose stack has a name that is taken.
func (p *person) renamed(name, stack string) string {
	p.t.Helper()
	p.write("environments/"+name+"/main.tf", fmt.Sprintf(onS3, s3test.Region))
	p.write("yuba.yaml", "environments: {"+name+": {stack: "+stack+"}}\n")
	return name
}

// Without a backend, a server cannot have the state; connect says so and changes nothing.
func TestAStateInAFileIsNotTakenSilently(t *testing.T) {
	p := newPerson(t, "")
	p.write("environments/staging/main.tf", "resource \"terraform_data\" \"x\" {}\n")
	p.ends(6, []string{"its state is a file on this machine", "yuba env connect staging --own-state"}, "env", "connect", "staging")
}

// A stack with its own state gets the file's before it plans, wherever the backend and the workspace have the file.
func TestAStackWaitsForTheStateOfAFile(t *testing.T) {
	p := newPerson(t, "")
	const program = "terraform {\n  backend \"local\" {\n    path = \"kept/one.tfstate\"\n    workspace_dir = \"kept/all\"\n  }\n}\nresource \"terraform_data\" \"x\" {}\n"
	for _, name := range []string{"staging", "prod"} {
		p.write("environments/"+name+"/main.tf", program)
	}
	p.write("environments/new/main.tf", "resource \"terraform_data\" \"x\" {}\n")
	p.ends(6, []string{"yuba env init staging"}, "env", "connect", "staging", "--own-state")
	p.must("env", "apply", "staging", "--yes")
	p.must("env", "tofu", "prod", "workspace", "new", "eu")
	p.must("env", "apply", "prod", "--yes")
	p.up()
	p.ends(6, []string{"Connect it without --auto"}, "env", "connect", "staging", "--own-state", "--auto")
	p.ends(6, []string{"Connect it without --auto"}, "env", "connect", "new", "--own-state", "--auto")
	file := filepath.Join(p.dir, "environments/staging/kept/one.tfstate")
	p.ends(0, []string{"is suspended until", "yuba state push staging " + file, "yuba resume staging"}, "env", "connect", "staging", "--own-state")
	p.ends(0, []string{"yuba state push prod " + filepath.Join(p.dir, "environments/prod/kept/all/eu/terraform.tfstate")}, "env", "connect", "prod", "--own-state")
	p.ends(0, []string{"is suspended until"}, "env", "connect", "staging", "--own-state")
	p.ends(6, []string{"Connect it without --auto"}, "env", "connect", "staging", "--own-state", "--auto")
	p.must("state", "push", "staging", file, "--yes")
	p.must("resume", "staging")
	p.must("kubectl", "wait", "--for=condition=Ready", "tf/staging", "--timeout=55s")
	p.ends(0, nil, "env", "plan", "staging", "--on-server", "--detailed-exitcode")
	p.ends(0, nil, "env", "connect", "staging", "--own-state", "--auto")
	p.ends(0, []string{"begins without a state"}, "env", "connect", "new", "--own-state")
	p.ends(0, nil, "kubectl", "wait", "--for=jsonpath={.status.plan.pending}", "tf/new", "--timeout=55s")
}
