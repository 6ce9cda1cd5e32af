// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// secretsOf has the Secrets of one namespace. Another stack writes the one called outputs.
type secretsOf map[string]map[string]string

func (s secretsOf) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	data, ok := s[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	secret := &corev1.Secret{Data: map[string][]byte{}}
	if name == "outputs" {
		secret.OwnerReferences = []metav1.OwnerReference{{Kind: infrav1.Kind, Name: "other", Controller: ptr.To(true)}}
	}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret, nil
}

func (s secretsOf) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

// newSources has sources on a blob store in a directory.
func newSources(t *testing.T) (*Sources, *blob.Store, string) {
	t.Helper()
	dir := t.TempDir()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	store, err := blob.Open(t.Context(), "file://"+dir, identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &Sources{Store: store, MaxArchive: 1 << 20}, store, dir
}

// configured combines an inline program with its inputs.
func configured(t *testing.T, secrets secretsOf, files map[string]string, change func(*infrav1.TerraformSpec)) (*Configuration, error) {
	t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "vpc"}}
	obj.Spec.Inline = files
	change(&obj.Spec)
	sources, _, _ := newSources(t)
	prog, err := sources.Find(t.Context(), obj, false)
	if err != nil {
		t.Fatal(err)
	}
	in, err := inputs.Resolve(t.Context(), secrets, "team", &obj.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return Configure(obj, prog, in)
}

func varsFrom(secret string) func(*infrav1.TerraformSpec) {
	return func(s *infrav1.TerraformSpec) { s.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: secret}} }
}

func TestFilesOfValues(t *testing.T) {
	files := map[string]string{
		"live/main.tf":         "variable \"a\" {}\nvariable \"b\" { type = number }\nvariable \"c\" {}\n",
		"env/prod.tfvars":      "a = 1\nb = 2\n",
		"env/more.tfvars.json": `{"c": 3}`,
		"env/broken.tfvars":    "a = \n",
	}
	secrets := secretsOf{"vars": {"b": "no number"}, "file": {"c": "c = \"s3cr3t\"\n", "broken": "c = s3cr3t {\n"}}
	for sentence, test := range map[string]struct {
		varFiles []string
		mapped   string
		want     []string
		problem  string
	}{
		"what files set is not missing, and wins over a value of the wrong type": {[]string{"env/prod.tfvars", "./env/more.tfvars.json"}, "", []string{"env/prod.tfvars", "env/more.tfvars.json"}, ""},
		"a leading slash is the source's root":                                   {[]string{"/env/prod.tfvars", "env/more.tfvars.json"}, "", []string{"env/prod.tfvars", "env/more.tfvars.json"}, ""},
		"a file from a Secret in the root module":                                {[]string{"env/prod.tfvars", "live/c.tfvars"}, "c", []string{"env/prod.tfvars", "live/c.tfvars"}, ""},
		"paths count from the source's root":                                     {[]string{"prod.tfvars"}, "", nil, "TFExecPlanFailed tfvars file's path does not exist: prod.tfvars (spec.tfVarsFiles[0]; paths are relative to the source's root, not to spec.path)"},
		"a path that leaves the source":                                          {[]string{"env/prod.tfvars", "../x.tfvars"}, "", nil, `TFExecPlanFailed spec.tfVarsFiles[1]: "../x.tfvars" is outside of the source. Paths are relative to the source's root`},
		"a file that cannot be read says where":                                  {[]string{"env/broken.tfvars"}, "", nil, "TFExecPlanFailed Error: Invalid expression\n\n  on env/broken.tfvars line 1"},
		"a broken file from a Secret does not show it":                           {[]string{"env/prod.tfvars", "live/c.tfvars"}, "broken", nil, "The file comes from a Secret and is not shown."},
		"what no file sets is missing":                                           {[]string{"env/prod.tfvars"}, "", nil, `VarsGenerationFailed main.tf:3: variable "c": it has neither a value nor a default`},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, err := configured(t, secrets, files, func(s *infrav1.TerraformSpec) {
				varsFrom("vars")(s)
				s.Path, s.TfVarsFiles = "live", test.varFiles
				if test.mapped != "" {
					s.FileMappings = []infrav1.FileMapping{{SecretRef: meta.SecretKeyReference{Name: "file", Key: test.mapped}, Location: "workspace", Path: "c.tfvars"}}
				}
			})
			expectProblem(t, err, test.problem)
			if test.problem != "" {
				return
			}
			var spec run.Spec
			c.Into(&spec)
			if diff := cmp.Diff(test.want, spec.VarFiles); diff != "" || len(spec.Variables) > 0 {
				t.Errorf("variables %v\n%s", spec.Variables, diff)
			}
		})
	}
}

// expectProblem compares the reason and a part of the message.
func expectProblem(t *testing.T, err error, want string) {
	t.Helper()
	var problem *Problem
	switch {
	case want == "" && err == nil:
	case !errors.As(err, &problem):
		t.Fatalf("got %v, want %q", err, want)
	case !strings.Contains(problem.Reason+" "+problem.Message, want):
		t.Errorf("got %s %s, want %q", problem.Reason, problem.Message, want)
	}
	if err != nil && strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("a secret is shown: %v", err)
	}
}

func TestMainFromATemplate(t *testing.T) {
	secrets := secretsOf{"s": {"password": "s3cr3t-password", "count": "3"}}
	values := func(s *infrav1.TerraformSpec) {
		s.Values = &apiextensionsv1.JSON{Raw: []byte(`{"name": "web", "sizes": [1, 2]}`)}
	}
	for sentence, test := range map[string]struct {
		template string
		change   func(*infrav1.TerraformSpec)
		want     string
		problem  string
	}{
		"values and variables": {`variable "password" {}
{{ range .Values.sizes }}resource "terraform_data" "{{ $.Values.name }}{{ . }}" { input = {{ $.count }} }
{{ end }}`, func(s *infrav1.TerraformSpec) { values(s); varsFrom("s")(s) }, `variable "password" {}
resource "terraform_data" "web1" { input = 3 }
resource "terraform_data" "web2" { input = 3 }
`, ""},
		"no variables at all":              {`locals { a = {{ 1 | quote }} }`, func(*infrav1.TerraformSpec) {}, `locals { a = "1" }`, ""},
		"a value that is not there":        {"\n{{ .Values.nope }}", values, "", "TemplateGenerationFailed main.tf.tpl:2:3: .Values.nope has no value"},
		"a message with a secret":          {`{{ fail .password }}`, varsFrom("s"), "", "TemplateGenerationFailed main.tf.tpl:1:3: (sensitive value)"},
		"HCL that is none shows no secret": {"locals {\n a = {{ .password }} {\n}", varsFrom("s"), "", "TFExecInitFailed"},
		"a variable that the result lacks": {"variable \"missing\" {}\n", values, "", `VarsGenerationFailed main.tf:1: variable "missing": it has neither a value nor a default`},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, err := configured(t, secrets, map[string]string{"main.tf.tpl": test.template}, test.change)
			expectProblem(t, err, test.problem)
			if test.problem != "" {
				return
			}
			want := []run.File{{Location: run.FileInModule, Path: "main.tf", Content: []byte(test.want)}}
			if diff := cmp.Diff(want, c.files); diff != "" {
				t.Error(diff)
			}
		})
	}
	c, err := configured(t, secrets, map[string]string{"main.tf.tpl": `locals { a = "{{ .password }}" }`}, varsFrom("s"))
	if err != nil || !strings.Contains(strings.Join(c.secrets, " "), "s3cr3t-password") {
		t.Errorf("a secret that the template put into the program is not masked: %v %v", c, err)
	}
}

func TestFilesOfTheRootModuleJoinIt(t *testing.T) {
	secrets := secretsOf{"f": {"tf": "variable \"late\" {\n  sensitive = true\n}\n", "vars": "early = \"s3cr3t\"\n", "broken": "variable \"s3cr3t {\n"}}
	mapping := func(key, name string) infrav1.FileMapping {
		return infrav1.FileMapping{SecretRef: meta.SecretKeyReference{Name: "f", Key: key}, Location: "workspace", Path: name}
	}
	files := map[string]string{"main.tf": "variable \"early\" {}\n"}
	c, err := configured(t, secrets, files, func(s *infrav1.TerraformSpec) {
		s.FileMappings = []infrav1.FileMapping{mapping("tf", "late.tf"), mapping("vars", "early.auto.tfvars"), mapping("vars", "sub/other.tf")}
		s.Vars = []infrav1.Variable{{Name: "late", Value: &apiextensionsv1.JSON{Raw: []byte(`"x"`)}}}
	})
	if err != nil || !c.variables["late"].Secret || len(c.files) != 3 || !c.files[0].Secret {
		t.Errorf("%+v %v", c, err)
	}
	_, err = configured(t, secrets, files, func(s *infrav1.TerraformSpec) { s.FileMappings = []infrav1.FileMapping{mapping("broken", "x.tf")} })
	expectProblem(t, err, "TFExecInitFailed")
}

func TestLockingOfAnOwnBackend(t *testing.T) {
	for timeout, want := range map[string]string{"30s": "", "": "", "soon": `TFExecPlanFailed spec.tfstate.lockTimeout: "soon" is not a duration such as 30s`, "-1s": "TFExecPlanFailed"} {
		c, err := configured(t, nil, map[string]string{"main.tf": ""}, func(s *infrav1.TerraformSpec) {
			s.TFState, s.Plan = &infrav1.TFStateSpec{LockTimeout: timeout}, &infrav1.PlanSpec{Lock: ptr.To(false)}
		})
		expectProblem(t, err, want)
		if want != "" {
			continue
		}
		var spec run.Spec
		if c.Into(&spec); !spec.NoPlanLock || (timeout != "") != (spec.LockTimeout > 0) {
			t.Errorf("%s: %+v", timeout, spec)
		}
	}
}

func TestSettingsAndTokensReachTheRun(t *testing.T) {
	secrets := secretsOf{"b": {"access_key": "AKIA-s3cr3t"}, "tfrc": {"x.tfrc": "credentials {}"}}
	c, err := configured(t, secrets, map[string]string{"main.tf": ""}, func(s *infrav1.TerraformSpec) {
		s.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}
		s.BackendConfigsFrom = []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "b"}}
		s.CliConfigSecretRef = &corev1.SecretReference{Name: "tfrc"}
	})
	if err != nil {
		t.Fatal(err)
	}
	var spec run.Spec
	c.Into(&spec)
	want := run.Spec{Artifact: spec.Artifact, Variables: spec.Variables, CLIConfig: []byte("credentials {}"), Secrets: []string{"AKIA-s3cr3t"}, ServiceAccount: "tf-runner",
		Backend: run.Backend{Kind: run.BackendOwn, Override: "terraform {\nbackend \"s3\" {}\n}\n", Settings: map[string]string{"access_key": "AKIA-s3cr3t"}, Location: "s3"}}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Error(diff)
	}
	c, err = configured(t, nil, map[string]string{"main.tf": ""}, func(s *infrav1.TerraformSpec) {
		s.Cloud = &infrav1.CloudSpec{Organization: "o", Token: "s3cr3t", Workspaces: &infrav1.CloudWorkspacesSpec{Name: "w"}}
		s.Env = []corev1.EnvVar{{Name: "TF_TOKEN_app_terraform_io", Value: "other"}}
	})
	if diff := cmp.Diff([]run.EnvVar{{Name: "TF_TOKEN_app_terraform_io", Value: "s3cr3t", Secret: true}}, c.env); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestDamagedInlineProgramIsStoredAgain damages the archive of a server that has just started.
func TestDamagedInlineProgramIsStoredAgain(t *testing.T) {
	obj := &infrav1.Terraform{Spec: infrav1.TerraformSpec{Inline: map[string]string{"main.tf": "variable \"a\" {}\n"}}}
	sources, store, dir := newSources(t)
	prog, err := sources.Find(t.Context(), obj, false)
	if err != nil {
		t.Fatal(err)
	}
	damage := func() {
		key, err := blob.ArtifactKey(prog.artifact.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+key, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := func() bool {
		r, err := store.OpenArtifact(t.Context(), prog.artifact.Digest)
		if err != nil {
			return false
		}
		defer r.Close()
		content, err := io.ReadAll(r)
		return err == nil && bytes.HasPrefix(content, []byte{0x1f, 0x8b})
	}
	damage()
	if whole() {
		t.Fatal("this test does no damage")
	}
	fresh := &Sources{Store: store, MaxArchive: 1 << 20}
	if again, err := fresh.Find(t.Context(), obj, false); err != nil || again.module.Variables["a"] == nil || !whole() {
		t.Errorf("%v", err)
	}
	// The module is cached; a run finds the damage.
	damage()
	setReady(obj, metav1.ConditionFalse, infrav1.ReasonArtifactFailed)
	if _, err := fresh.Find(t.Context(), obj, false); err != nil || !whole() {
		t.Errorf("%v", err)
	}
}

func TestReadModulesAreBounded(t *testing.T) {
	sources := &Sources{}
	large := &readModule{files: map[string][]byte{"main.tf": make([]byte, maxModuleFiles/4)}}
	for _, digest := range strings.Split("abcdefgh", "") {
		sources.remember(moduleKey{digest: digest}, large)
	}
	if len(sources.modules) > 4 || sources.kept > maxModuleFiles || sources.modules[moduleKey{digest: "h"}] == nil {
		t.Errorf("%d modules of %d bytes", len(sources.modules), sources.kept)
	}
}

// TestAPlaceThatIsNotUnderstood: two such settings have the same location, so people are told that a change holds nothing.
func TestAPlaceThatIsNotUnderstood(t *testing.T) {
	for setting, warns := range map[string]bool{"postgres://u:hid/den@db/states": true, "postgres://u:hidden@db/states": false} {
		c, err := configured(t, nil, map[string]string{"main.tf": ""}, func(s *infrav1.TerraformSpec) {
			s.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "pg" {` + "\nconn_str = \"" + setting + "\"\n}"}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(c.Warnings, vagueLocation); got != warns {
			t.Errorf("%s: warnings %q", setting, c.Warnings)
		}
	}
}
