// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/backendtest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// home is a running Yuba.
type home struct {
	*tenanttest.Home
	yuba string
}

// place is where the state of one stack goes.
type place struct {
	*backendtest.Server
	home
	// name is the stack's, and that of its Secret.
	name, kind, workspace string
	settings              map[string]string
	// denied are words of the error that a wrong credential gets.
	denied string
}

func (p *place) stack() string { return p.Namespace + "/" + p.name }

// run runs a command, which must not show a credential.
func (p *place) run(t *testing.T, args ...string) (out, news string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.yuba, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	p.unseen(t, strings.Join(args, " "), stdout.String()+stderr.String())
	return stdout.String(), stderr.String(), err
}

// unseen proves that a text has no credential.
func (p *place) unseen(t *testing.T, where, text string) {
	t.Helper()
	for name, value := range p.Secret {
		if strings.Contains(text, value) {
			t.Errorf("%s shows %s:\n%s", where, name, text)
		}
	}
}

// command is a command that must succeed.
func (p *place) command(t *testing.T, args ...string) string {
	t.Helper()
	out, news, err := p.run(t, args...)
	if err != nil {
		t.Fatalf("yuba %s: %v\n%s%s\nServer:\n%s", strings.Join(args, " "), err, out, news, p.Log())
	}
	return out + news
}

// refused is a command that must fail, and returns what it says.
func (p *place) refused(t *testing.T, args ...string) string {
	t.Helper()
	out, news, err := p.run(t, args...)
	if err == nil {
		t.Fatalf("yuba %s succeeded:\n%s%s", strings.Join(args, " "), out, news)
	}
	return out + news
}

// at waits until the stack is ready with its state at this type of backend.
func (p *place) at(t *testing.T, kind string) {
	t.Helper()
	p.Eventually(t, p.name+" is ready at "+kind, func() string {
		var o infrav1.Terraform
		p.Get(t, p.name, &o)
		ready := apimeta.FindStatusCondition(o.Status.Conditions, infrav1.ConditionReady)
		is := "yuba"
		if o.Status.Backend != nil {
			is, _, _ = strings.Cut(o.Status.Backend.Location, " ")
		}
		if ready == nil || ready.Status != metav1.ConditionTrue || o.Status.ObservedGeneration != o.Generation || o.Status.CurrentRun != nil || is != kind {
			return fmt.Sprintf("at %s, %+v", is, ready)
		}
		return ""
	})
}

// pulled is the state as the stack's own commands read it.
func (p *place) pulled(t *testing.T) (lineage string, serial int, content any) {
	t.Helper()
	var s struct {
		Lineage            string
		Serial             int
		Outputs, Resources any
	}
	text, _, err := p.run(t, "shell", p.stack(), "--", "tofu", "state", "pull")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Lineage, s.Serial, []any{s.Outputs, s.Resources}
}

const program = `
variable "more" {
  type    = list(string)
  default = []
}
resource "terraform_data" "each" {
  for_each = toset(concat(["a", "b"], var.more))
  input    = { name = each.key, list = [1, 2.5, null], text = "ü \" $${x}" }
}
output "ids" { value = { for k, v in terraform_data.each : k => v.id } }
output "secret" {
  value     = "s"
  sensitive = true
}
`

// create creates the Secret, with a credential that the server does not know, and the stack, whose
// state Yuba keeps at first.
func (p *place) create(t *testing.T, own bool) {
	t.Helper()
	wrong := map[string]string{}
	for name := range p.Secret {
		wrong[name] = "wr0ng-" + name
	}
	if _, key := wrong["access_key"]; p.kind == "azurerm" && key {
		wrong["access_key"] = "d3Jvbmcta2V5LW9mLXRoZS1henVyZS1iYWNrZW5k"
	}
	p.keep(t, wrong)
	if !own {
		p.keep(t, p.Secret)
	}
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.name}}
	obj.Spec.Interval = metav1.Duration{Duration: time.Hour}
	obj.Spec.ApprovePlan = "auto"
	obj.Spec.Workspace = p.workspace
	obj.Spec.Inline = map[string]string{"main.tf": program}
	for name, value := range p.Env {
		obj.Spec.Env = append(obj.Spec.Env, corev1.EnvVar{Name: name, Value: value})
	}
	if p.Authority != nil {
		obj.Spec.Inline["ca.pem"] = string(p.Authority)
		obj.Spec.Env = append(obj.Spec.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: "ca.pem"})
	}
	if p.kind == "cloud" {
		obj.Spec.CliConfigSecretRef = &corev1.SecretReference{Name: p.name}
	}
	if err := p.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// keep replaces the content of the stack's Secret.
func (p *place) keep(t *testing.T, data map[string]string) {
	t.Helper()
	if p.kind == "cloud" {
		data = map[string]string{"cloud.tfrc": p.rc(data["token"])}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.name}, StringData: data}
	err := p.Client.Create(t.Context(), secret.DeepCopy())
	if err != nil {
		err = p.Client.Patch(t.Context(), secret, client.Merge)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rc is the tool's own configuration with a token.
func (p *place) rc(token string) string {
	return fmt.Sprintf("credentials %q {\n  token = %q\n}\n", p.Settings["hostname"], token)
}

// all are the server's settings and those of the stack.
func (p *place) all() map[string]string {
	all := maps.Clone(p.Settings)
	maps.Copy(all, p.settings)
	return all
}

// migrate are the arguments that move the state there.
func (p *place) migrate(more ...string) []string {
	args := append([]string{"state", "migrate", p.stack(), "--yes", "--to", p.kind}, more...)
	all := p.all()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "--set", name+"="+all[name])
	}
	if p.kind != "cloud" {
		args = append(args, "--settings-from", "Secret/"+p.name)
	}
	return args
}

// colleague is somebody who uses the same state with plain tofu.
type colleague struct {
	dir string
	env []string
}

// colleague initialises a directory with the backend of the stack.
func (p *place) colleague(t *testing.T) *colleague {
	t.Helper()
	c := &colleague{dir: t.TempDir()}
	c.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "CHECKPOINT_DISABLE=1"}
	for name, value := range p.Env {
		c.env = append(c.env, name+"="+value)
	}
	var o infrav1.Terraform
	p.Get(t, p.name, &o)
	block := ""
	switch cloud := o.Spec.Cloud; {
	case cloud != nil && len(cloud.Workspaces.Tags) > 0:
		block = fmt.Sprintf("cloud {\n hostname = %q\n organization = %q\n workspaces {\n tags = [%q]\n }\n}", cloud.Hostname, cloud.Organization, cloud.Workspaces.Tags[0])
	case cloud != nil:
		block = fmt.Sprintf("cloud {\n hostname = %q\n organization = %q\n workspaces {\n name = %q\n }\n}", cloud.Hostname, cloud.Organization, cloud.Workspaces.Name)
	default:
		block = o.Spec.BackendConfig.CustomConfiguration
	}
	files := map[string]string{
		"backend.tf": "terraform {\n" + block + "\n}\n",
		"main.tf":    "resource \"terraform_data\" \"hold\" {\n  provisioner \"local-exec\" {\n    command = \"touch held; cat gate\"\n  }\n}\n",
		"tool.rc":    "",
	}
	init := []string{"init", "-input=false", "-no-color"}
	if p.Authority != nil {
		files["ca.pem"] = string(p.Authority)
		c.env = append(c.env, "SSL_CERT_FILE="+filepath.Join(c.dir, "ca.pem"))
	}
	if p.kind == "cloud" {
		files["tool.rc"] = p.rc(p.Secret["token"])
	} else {
		for name, value := range p.Secret {
			files["secret.tfbackend"] += fmt.Sprintf("%s = %q\n", name, value)
		}
		init = append(init, "-backend-config=secret.tfbackend")
	}
	c.env = append(c.env, "TF_CLI_CONFIG_FILE="+filepath.Join(c.dir, "tool.rc"))
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p.workspace != "" {
		c.env = append(c.env, "TF_WORKSPACE="+p.workspace)
	}
	if err := syscall.Mkfifo(filepath.Join(c.dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := c.tofu(t, init...).CombinedOutput(); err != nil {
		t.Fatalf("a colleague's init: %v\n%s", err, out)
	}
	return c
}

func (c *colleague) tofu(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), tofutest.Tofu(t), args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// dies takes the lock with an apply, and is killed in the middle of it.
func (c *colleague) dies(t *testing.T) {
	t.Helper()
	cmd := c.tofu(t, "apply", "-auto-approve", "-input=false", "-no-color", "-target=terraform_data.hold")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(tenanttest.Patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(c.dir, "held")); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("a colleague's apply: %v\n%s", err, out.String())
		default:
		}
		if time.Now().After(deadline) {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
			t.Fatalf("a colleague's apply does not begin\n%s", out.String())
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
}
