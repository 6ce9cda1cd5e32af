// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// accountProgram gives an account a password; its apply stops at a gate if it is held.
const accountProgram = `
variable "database" {
  type      = string
  sensitive = true
}
variable "database_previous" {
  type      = string
  sensitive = true
  default   = null
}
variable "held" { default = false }
resource "terraform_data" "account" {
  input            = sha256(var.database)
  triggers_replace = sha256(var.database)
  provisioner "local-exec" {
    command = "if ${var.held}; then touch $HOME/reached; until [ -e $HOME/open ]; do sleep 0.05; done; fi"
  }
}
output "hash" { value = nonsensitive(terraform_data.account.output) }
output "both" { value = nonsensitive(var.database_previous != null) }
`

// applicationProgram uses the password, and fails where it is told to.
const applicationProgram = `
variable "database" {
  type      = string
  sensitive = true
}
variable "database_previous" {
  type      = string
  sensitive = true
  default   = null
}
variable "only" { default = "" }
variable "needs_both" { default = false }
resource "terraform_data" "config" {
  input = sha256(var.database)
  lifecycle {
    precondition {
      condition     = nonsensitive(var.only == "" || sha256(var.database) == var.only)
      error_message = "The application does not accept this password."
    }
    precondition {
      condition     = nonsensitive(!var.needs_both || var.database_previous != null)
      error_message = "The application still needs the old password."
    }
  }
}
output "hash" { value = nonsensitive(terraform_data.config.output) }
`

// rotating is an environment whose secret two stacks read.
type rotating struct {
	*testing.T
	y                  *yuba
	ns, library        string
	producer, consumer *infrav1.Terraform
}

func newRotating(t *testing.T, settings string) *rotating {
	t.Helper()
	y, ns := common(t)
	r := &rotating{T: t, y: y, ns: ns, library: t.TempDir()}
	dir := filepath.Join(r.library, "environments", "staging")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "store: {kubernetes: {namespace: " + ns + ", name: shop}}\nsecrets: {database: {password: {length: 24}}}\n" + settings
	for name, content := range map[string]string{"secrets.yaml": text, "main.tf": "# an environment\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.command(0, "init", "staging")
	r.producer = inline(ns, "producer", accountProgram, auto, varsFrom("Secret", "shop"), outputsTo("producer-out"))
	r.consumer = inline(ns, "consumer", applicationProgram, auto, varsFrom("Secret", "shop"), outputsTo("consumer-out"), variable("only", ""), variable("needs_both", false), func(o *infrav1.Terraform) {
		o.Spec.DependsOn = []meta.NamespacedObjectReference{{Name: "producer"}}
	})
	y.create(t, r.producer, r.consumer)
	y.await(t, r.producer, "it is applied", ready)
	y.await(t, r.consumer, "it is applied", ready)
	return r
}

// command runs "yuba secrets", and returns what it said.
func (r *rotating) command(want int, args ...string) string {
	r.Helper()
	out, news, code := r.y.run(r.T, append([]string{"secrets", "--library", r.library}, args...)...)
	if code != want {
		r.Fatalf("yuba secrets %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, news)
	}
	return out + news
}

// values are those of the secret by part.
func (r *rotating) values() map[string]string {
	r.Helper()
	values := map[string]string{}
	for key, value := range r.y.secret(r.T, r.ns, "shop") {
		values[key] = string(value)
	}
	return values
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// uses checks that one value is left, and that both stacks have applied it.
func (r *rotating) uses(value string) {
	r.Helper()
	if got := r.values(); got["database"] != value || len(got) != 1 {
		r.Fatalf("the Secret has %d values, or another one than expected", len(got))
	}
	for _, out := range []string{"producer-out", "consumer-out"} {
		if got := string(r.y.secret(r.T, r.ns, out)["hash"]); got != hashOf(value) {
			r.Errorf("%s has applied another value", out)
		}
	}
}

// set changes a variable of the consumer, and waits until it is applied.
func (r *rotating) set(name string, value any) {
	r.Helper()
	change(r.T, r.y, r.consumer, func(o *infrav1.Terraform) {
		for i := range o.Spec.Vars {
			if o.Spec.Vars[i].Name == name {
				o.Spec.Vars[i].Value.Raw, _ = json.Marshal(value)
			}
		}
	})
	r.y.await(r.T, r.consumer, "the change is applied", ready)
}

func TestARotationIsRolledBackWhenAStackFails(t *testing.T) {
	r := newRotating(t, "")
	old := r.values()["database"]
	r.set("only", hashOf(old))
	text := r.command(4, "rotate", "staging", "database")
	if !strings.Contains(text, "The application does not accept this password") || !strings.Contains(text, "rolled back") {
		t.Errorf("it says\n%s", text)
	}
	r.uses(old)
	r.set("only", "")
	text = r.command(0, "rotate", "staging", "database", "-o", "json")
	now := r.values()["database"]
	if now == old || strings.Contains(text, now) || strings.Contains(text, old) {
		t.Errorf("the value did not change, or it is printed:\n%s", text)
	}
	r.uses(now)
	if strings.Contains(r.y.logText(), now) || strings.Contains(r.y.logText(), old) {
		t.Error("the server's log has the value")
	}
}

func TestARotationWhoseSecondStepFailsIsFinishedLater(t *testing.T) {
	r := newRotating(t, "overlap: 1h\n")
	old := r.values()["database"]
	if text := r.command(5, "rotate", "staging", "database"); !strings.Contains(text, "both values of database are valid until") {
		t.Errorf("it says\n%s", text)
	}
	if got := r.values(); got["database_previous"] != old || got["database"] == old {
		t.Fatal("the old value is not valid any more")
	}
	r.set("needs_both", true)
	if text := r.command(4, "rotate", "staging", "--now"); !strings.Contains(text, "still needs the old password") || !strings.Contains(text, "both values are valid again") {
		t.Errorf("it says\n%s", text)
	}
	if got := r.values(); got["database_previous"] != old || len(got) != 2 {
		t.Fatal("the old value was not restored")
	}
	if text := r.command(1, "check", "staging"); !strings.Contains(text, "the rotation of database is not finished") {
		t.Errorf("check says\n%s", text)
	}
	r.set("needs_both", false)
	r.command(0, "rotate", "staging", "--now")
	r.uses(r.values()["database"])
	r.command(0, "check", "staging")
}

// While the first stack runs, the others wait for their turn, and the command can be killed.
func TestStacksRunOneAfterTheOther(t *testing.T) {
	r := newRotating(t, "")
	old := r.values()["database"]
	reached, open := r.y.gate(r.producer)
	change(t, r.y, r.producer, func(o *infrav1.Terraform) { variable("held", true)(o) })
	r.y.await(t, r.producer, "the change is applied", ready)
	cmd := r.start()
	awaitFile(t, reached)
	seen := r.y.await(t, r.consumer, "it waits for its turn", func(o *infrav1.Terraform) bool {
		return condition(o, "Ready").Reason == infrav1.ReasonWaiting
	})
	if text := condition(seen, "Ready").Message; !strings.Contains(text, "producer runs first") || !strings.Contains(text, "being rotated") {
		t.Errorf("Ready says %q", text)
	}
	cmd.Process.Kill() //nolint:errcheck // it runs
	cmd.Wait()         //nolint:errcheck // it was killed
	if got := r.values(); got["database_previous"] != old {
		t.Fatal("the old value is lost")
	}
	touch(t, open)
	r.command(0, "rotate", "staging")
	r.uses(r.values()["database"])
}

func (r *rotating) start() *exec.Cmd {
	r.Helper()
	cmd := exec.Command(filepath.Join(programs, "yuba"), "secrets", "--library", r.library, "rotate", "staging", "database")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.y.kubeconfig())
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	return cmd
}

// A command that is killed at any step is continued by the next call, and no value is lost.
func TestARotationThatIsKilledAnywhereContinues(t *testing.T) {
	r := newRotating(t, "")
	for line := 1; line <= 5; line++ {
		old := r.values()["database"]
		cmd := exec.Command(filepath.Join(programs, "yuba"), "secrets", "--library", r.library, "rotate", "staging", "database")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+r.y.kubeconfig())
		news, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(news)
		last := ""
		for range line {
			if !lines.Scan() {
				t.Fatalf("it ended before line %d, after %q", line, last)
			}
			last = lines.Text()
		}
		cmd.Process.Kill() //nolint:errcheck // it runs
		cmd.Wait()         //nolint:errcheck // it was killed
		got := r.values()
		if got["database"] != old && got["database_previous"] != old && got["database_retired"] != old {
			t.Fatalf("killed after %q: the old value is lost", last)
		}
		r.command(0, "rotate", "staging")
		now := r.values()["database"]
		if now == old {
			t.Errorf("killed after %q: the value was not rotated", last)
		}
		r.uses(now)
	}
}
