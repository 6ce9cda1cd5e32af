// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func backendOf(t *testing.T, text string) (BackendConfig, error) {
	t.Helper()
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "vpc"}, Spec: *spec(t, text)}
	in, err := Resolve(t.Context(), world(), "team-a", &obj.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return Backend(obj, in)
}

func TestBackend(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		kind BackendKind
		hcl  string
	}{
		"managed unless it is said otherwise": {`{}`, BackendManaged, "terraform {\n  backend \"local\" {}\n}\n"},
		"managed with labels and a suffix":    {`backendConfig: {secretSuffix: x, labels: {a: b}, inClusterConfig: true}`, BackendManaged, ManagedBackend},
		"the module's own":                    {`backendConfig: {disable: true}`, BackendOwn, ""},
		"the module's own, completed":         {`{backendConfig: {disable: true}, backendConfigsFrom: [{kind: ConfigMap, name: shared}]}`, BackendOwn, ""},
		"the stack's own":                     {"backendConfig:\n  customConfiguration: |\n    backend \"s3\" {}\n", BackendOwn, "terraform {\nbackend \"s3\" {}\n}\n"},
		"the cluster of a kubeconfig": {`backendConfig: {configPath: /home/runner/.kube/config, labels: {b: "${x}", a: 'q"'}}`, BackendOwn, `terraform {
  backend "kubernetes" {
    secret_suffix = "vpc"
    namespace     = "team-a"
    config_path   = "~/.kube/config"
    labels = {
      "a" = "q\""
      "b" = "$${x}"
    }
  }
}
`},
		"the cluster of a kubeconfig, with a suffix": {`backendConfig: {configPath: kubeconfig, secretSuffix: x}`, BackendOwn,
			"terraform {\n  backend \"kubernetes\" {\n    secret_suffix = \"x\"\n    namespace     = \"team-a\"\n    config_path   = \"kubeconfig\"\n  }\n}\n"},
		"a cloud, whatever else is said": {`{cloud: {organization: acme, hostname: tofu.example.com, workspaces: {name: prod}}, backendConfig: {secretSuffix: x}}`, BackendOwn, `terraform {
  cloud {
    organization = "acme"
    hostname     = "tofu.example.com"
    workspaces {
      name = "prod"
    }
  }
}
`},
		"a cloud's workspaces by tags": {`cloud: {organization: "ac\"me", workspaces: {tags: [a, b]}}`, BackendOwn, `terraform {
  cloud {
    organization = "ac\"me"
    workspaces {
      tags = ["a", "b"]
    }
  }
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := backendOf(t, c.spec)
			if diff := cmp.Diff(c.hcl, got.HCL); err != nil || diff != "" || got.Kind != c.kind || len(got.Env) > 0 {
				t.Errorf("%s %v, environment %v\n%s", got.Kind, err, got.Env, diff)
			}
		})
	}
}

func TestBackendsThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		`backendConfigsFrom: [{kind: ConfigMap, name: shared}]`:                                 "spec.backendConfigsFrom completes a custom backend",
		`cloud: {organization: "", workspaces: {name: n}}`:                                      "spec.cloud.organization is missing",
		`cloud: {organization: o, workspaces: {}}`:                                              "spec.cloud.workspaces must have a name or tags",
		`cloud: {organization: o, token: t, hostname: "bücher.example", workspaces: {name: n}}`: "write a name with other letters than a to z in its xn-- form",
	} {
		if _, err := backendOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTokenOfACloudIsInItsEnvironmentOnly(t *testing.T) {
	for text, want := range map[string]string{
		`cloud: {organization: o, token: s3cr3t, workspaces: {name: n}}`:                                                       "TF_TOKEN_app_terraform_io",
		`cloud: {organization: o, token: s3cr3t, hostname: Tofu.my-company.example, workspaces: {name: n}}`:                    "TF_TOKEN_tofu_my__company_example",
		`{cloud: {organization: o, token: s3cr3t, workspaces: {name: n}}, env: [{name: TF_CLOUD_HOSTNAME, value: c.example}]}`: "TF_TOKEN_c_example",
	} {
		got, err := backendOf(t, text)
		if err != nil || strings.Contains(got.HCL, "s3cr3t") || len(got.Env) != 1 || got.Env[0].Name != want || got.Env[0].Value.Reveal() != "s3cr3t" || !got.Env[0].Secret {
			t.Errorf("%s: %v %v\n%s", text, err, got.Env, got.HCL)
		}
	}
}

// TestQuotedTextsAreReadBack has HCL read what was quoted for it.
func TestQuotedTextsAreReadBack(t *testing.T) {
	for _, text := range []string{"", "plain", `a "b" \ c`, "line\nline\ttab\r\a\x7f", "${x} %{if} $${y} $", "ü 漢 🙂", "\u2028"} {
		expr, diags := hclsyntax.ParseExpression([]byte(quoteHCL(text)), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Errorf("%q: %s", text, diags)
			continue
		}
		if value, diags := expr.Value(nil); diags.HasErrors() || value.AsString() != text {
			t.Errorf("%q is read as %#v, %v", text, value, diags)
		}
	}
}
