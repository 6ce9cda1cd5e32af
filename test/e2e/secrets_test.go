// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// secretive prints as much as OpenTofu allows: "leaky" is a Secret's value that the module does not
// declare as sensitive.
const secretive = providerHCL + `
variable "password" {
  type      = string
  sensitive = true
}
variable "leaky" { type = string }
resource "yubatest_object" "shown" {
  name    = "shown"
  content = var.leaky
  secret  = var.password
}
resource "terraform_data" "told" {
  input = { text = "in a sentence: ${var.leaky}!" }
}
output "derived" {
  value     = upper(var.password)
  sensitive = true
}
output "leaked" { value = var.leaky }
`

// The secrets contain characters that encodings change: quotes, backslashes, HTML, template marks,
// newlines.
const (
	secretPassword = `hunter2-"quoted"\back<slash>&${more}-9f1c`
	secretLeaky    = "first-line-71e0\n  second \"line\" \\ 44aa\nthird-line-<b>-03dd"
)

// searcher searches for secrets in any encoding.
type searcher map[string]string

func newSearcher(secrets map[string]string) searcher {
	s := searcher{}
	for name, secret := range secrets {
		s.add(name, secret)
		for line := range strings.Lines(secret) {
			s.add("a line of "+name, strings.TrimSpace(line))
		}
	}
	return s
}

func (s searcher) add(name, text string) {
	escaped, _ := json.Marshal(text) //nolint:errcheck // a string always marshals
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	encoder.Encode(text) //nolint:errcheck // to memory
	for how, written := range map[string]string{
		"": text, " in JSON": strings.Trim(string(escaped), `"`), " in JSON without HTML escapes": strings.Trim(strings.TrimSpace(plain.String()), `"`),
		" quoted twice": strings.Trim(strconv.Quote(strconv.Quote(text)), `"\`), " in base64": base64.StdEncoding.EncodeToString([]byte(text)),
		" in a URL": url.QueryEscape(text),
	} {
		s[written] = name + how
	}
}

// in reports every secret in a text.
func (s searcher) in(t *testing.T, where string, text []byte) {
	t.Helper()
	for written, name := range s {
		if i := bytes.Index(text, []byte(written)); i >= 0 {
			t.Errorf("%s shows %s:\n…%s…", where, name, text[max(0, i-200):min(len(text), i+len(written)+50)])
		}
	}
}

func (s searcher) found(text []byte) bool {
	for written := range s {
		if bytes.Contains(text, []byte(written)) {
			return true
		}
	}
	return false
}

// everythingReadable checks everything about a stack that people without access to Secrets may
// read.
func (s searcher) everythingReadable(t *testing.T, y *yuba, obj *infrav1.Terraform) {
	t.Helper()
	now := &infrav1.Terraform{}
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), now); err != nil {
		t.Fatal(err)
	}
	now.ManagedFields = nil
	text, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	s.in(t, "the object", text)
	for _, event := range y.events(t, obj) {
		s.in(t, "an event", []byte(event))
	}
	s.in(t, "the server's log", []byte(y.logText()))
	c := y.content(t)
	runs, err := c.Runs(t.Context(), obj.Namespace, obj.Name, 100)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(runs); err != nil {
		t.Fatal(err)
	}
	s.in(t, "the list of runs", text)
	for _, r := range runs.Items {
		s.in(t, "the log of run "+r.Spec.ID, read(t, c, obj, r.Spec.ID))
		if text, err := c.Plan(t.Context(), obj.Namespace, obj.Name, r.Spec.ID); err == nil {
			s.in(t, "the plan of run "+r.Spec.ID, text)
		}
	}
	for _, command := range []string{"status", "plan", "logs", "runs", "list"} {
		args := []string{command, obj.Name, "-n", obj.Namespace}
		if command == "list" {
			args = slices.Delete(args, 1, 2)
		}
		out, news, code := y.run(t, args...)
		if code != 0 && command != "plan" { // there may be none
			t.Errorf("yuba %v: %d\n%s", args, code, news)
		}
		s.in(t, "yuba "+command, []byte(out+news))
	}
}

func read(t *testing.T, c *content.Client, obj *infrav1.Terraform, run string) []byte {
	t.Helper()
	body, err := c.Log(t.Context(), obj.Namespace, obj.Name, content.LogOptions{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// files checks every file below a directory and returns the names of those with a secret.
func (s searcher) files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // it has gone meanwhile
		}
		text, err := os.ReadFile(name)
		if err == nil && s.found(text) {
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// processes checks the command lines of all processes, and the environments of those that are not
// the run's own.
func (s searcher) processes(t *testing.T) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*") //nolint:errcheck // the pattern is good
	own := 0
	for _, dir := range names {
		line, _ := os.ReadFile(dir + "/cmdline") //nolint:errcheck // it may have ended
		s.in(t, "a command line", line)
		environ, _ := os.ReadFile(dir + "/environ") //nolint:errcheck // it may have ended
		if !s.found(environ) {
			continue
		}
		program, _, _ := bytes.Cut(line, []byte{0})
		if base := filepath.Base(string(program)); base == "tofu" || strings.HasPrefix(base, "terraform-provider-") {
			own++
		} else {
			t.Errorf("the environment of %q has a secret", line)
		}
	}
	if own == 0 {
		t.Error("no process of the run was found")
	}
}

func TestSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	all := newSearcher(map[string]string{"the password": secretPassword, "the leaky one": secretLeaky,
		"the derived one": strings.ToUpper(secretPassword), "the token": c.Token()})
	y.create(t, secretOf(ns, "vars", map[string]string{"leaky": secretLeaky}), secretOf(ns, "creds", map[string]string{"pw": secretPassword}))
	gate := c.Hold(http.MethodPut, "shown")
	c.Fail(http.MethodPut, "shown", http.StatusTeapot, "I do not like {secret}")
	obj := inline(ns, "secretive", secretive, access, varsFrom("Secret", "vars"), outputsTo("out"), driftEvery(2*time.Second), func(o *infrav1.Terraform) {
		o.Spec.Vars = []infrav1.Variable{{Name: "password", ValueFrom: fromSecret("", "creds", "pw").ValueFrom}}
	})
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	all.everythingReadable(t, y, obj)
	if text, err := y.content(t).Plan(t.Context(), ns, obj.Name, ""); err != nil || !containsAll(string(text), "in a sentence: (sensitive)!") {
		t.Errorf("the plan does not show what it may show (%v):\n%s", err, text)
	}

	approve(t, y, obj)
	awaitReached(t, y, gate)
	all.processes(t)
	gate.Release()
	failed := y.await(t, obj, "the apply fails", failedWith(infrav1.ReasonApplyFailed))
	if m := condition(failed, infrav1.ConditionReady).Message; !strings.Contains(m, "I do not like (sensitive)") {
		t.Errorf("the provider's error is not told: %s", m)
	}
	all.everythingReadable(t, y, obj)

	c.Fail(http.MethodPut, "shown", 0, "")
	y.await(t, obj, "another plan waits", waiting)
	approve(t, y, obj)
	y.await(t, obj, "it is ready", ready)
	if got := string(y.secret(t, ns, "out")["derived"]); got != strings.ToUpper(secretPassword) {
		t.Errorf("the outputs Secret has %q", got)
	}
	c.Put("shown", "another")
	y.await(t, obj, "drift is reported", failedWith(infrav1.ReasonDriftDetected))
	all.everythingReadable(t, y, obj)

	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	y.await(t, obj, "it is suspended", settled)
	all.restOnDisk(t, y)
}

// restOnDisk checks the data directory while no run is active: it contains no secrets in clear
// text.
func (s searcher) restOnDisk(t *testing.T, y *yuba) {
	t.Helper()
	// Yuba removes the files of a run after it has reported the end.
	deadline := time.Now().Add(10 * time.Second)
	found := s.files(t, y.dir)
	for len(found) > 0 && time.Now().Before(deadline) {
		time.Sleep(200 * time.Millisecond)
		found = s.files(t, y.dir)
	}
	if len(found) > 0 {
		t.Errorf("secrets are in clear in\n%s", strings.Join(found, "\n"))
	}
}

// While a run is active, only its working directory and spool contain secrets in clear text.
func TestSecretsOnDiskDuringARun(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	password := fmt.Sprintf("password-of-%s", ns)
	all := newSearcher(map[string]string{"the password": password, "the token": c.Token()})
	y.create(t, secretOf(ns, "creds", map[string]string{"pw": password}))
	gate := c.Hold(http.MethodPut, "held")
	obj := inline(ns, "working", providerHCL+"variable \"pw\" { type = string }\n"+objectHCL("held", "x", "  secret = var.pw"), access, auto, varsFrom("Secret", "creds"))
	y.create(t, obj)
	awaitReached(t, y, gate)
	found := all.files(t, y.dir)
	if len(found) == 0 {
		t.Error("the search does not find a known secret")
	}
	for _, name := range found {
		relative, err := filepath.Rel(y.dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(relative, filepath.Join("work", ns, "working")+"/") && !strings.HasPrefix(relative, "runner/runs/") {
			t.Errorf("%s has a secret in clear", relative)
		}
		for _, path := range []string{name, filepath.Dir(name)} {
			if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && !strings.HasPrefix(relative, "work/") {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
		}
	}
	gate.Release()
	y.await(t, obj, "it is ready", ready)
	all.restOnDisk(t, y)
}

func TestSecretsThatDoNotFitAreNotQuoted(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	secrets := map[string]string{"number": "seven-not-a-number", "list": `{"secret":"of the list"`, "checked": "does-not-pass-5a5a"}
	all := newSearcher(secrets)
	y.create(t, secretOf(ns, "creds", secrets))
	mistyped := inline(ns, "mistyped", "variable \"number\" { type = number }\nvariable \"list\" { type = list(string) }\n", varsFrom("Secret", "creds"))
	invalid := inline(ns, "invalid", `variable "checked" {
  type = string
  validation {
    condition     = var.checked == "good"
    error_message = "The value ${var.checked} is not good."
  }
}`, varsFrom("Secret", "creds"))
	y.create(t, mistyped, invalid)
	for obj, is := range map[*infrav1.Terraform]func(*infrav1.Terraform) bool{
		mistyped: failedWith(infrav1.ReasonVarsGenerationFailed), invalid: failedWith(infrav1.ReasonPlanFailed)} {
		seen := y.await(t, obj, "it fails", is)
		text, err := json.Marshal(seen)
		if err != nil {
			t.Fatal(err)
		}
		all.in(t, obj.Name, text)
		for _, event := range y.events(t, obj) {
			all.in(t, "an event of "+obj.Name, []byte(event))
		}
	}
	all.in(t, "the server's log", []byte(y.logText()))
	all.restOnDisk(t, y)
}
