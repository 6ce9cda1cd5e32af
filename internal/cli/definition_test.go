// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/serving"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// definitionOf is a definition with names of its own: definitions are not in a namespace.
func definitionOf(name string) string {
	kind := strings.ToUpper(name[:1]) + name[1:]
	return `apiVersion: cozystack.io/v1alpha1
kind: ApplicationDefinition
metadata: {name: ` + name + `}
spec:
  application:
    kind: ` + kind + `
    plural: ` + name + `s
    singular: ` + name + `
    openAPISchema: '{"type":"object","required":["size"],"properties":{"size":{"type":"integer","minimum":1,"description":"Size in GiB."},"tier":{"type":"string","enum":["fast","slow"],"default":"slow"}}}'
  backend:
    type: Terraform
    terraform:
      prefix: ` + name + `-
      inline: {main.tf: "variable \"size\" {\n  type = number\n}\nvariable \"tier\" {\n  type = string\n}\noutput \"endpoint\" {\n  value = var.tier\n}\n"}
      outputs: [endpoint]
  dashboard: {singular: ` + kind + `, category: IaaS, keysOrder: [[spec, tier], [spec, size]]}
`
}

// serve applies a definition and its kind, as the server does.
func serve(t *testing.T, text string) *appv1.ApplicationDefinition {
	t.Helper()
	d := &appv1.ApplicationDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	parsed, list := definition.Parse(d)
	if parsed == nil {
		t.Fatal(list)
	}
	crd, err := serving.Kind(parsed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	text2, err := yaml.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	applyText(t, "", text)
	applyText(t, "", string(text2))
	t.Cleanup(func() {
		_ = apitest.Client(t).Delete(context.Background(), &appv1.ApplicationDefinition{ObjectMeta: d.ObjectMeta}) //nolint:errcheck // the API ends with the tests
	})
	established(t, crd.Name)
	return d
}

// established waits until the API serves a kind.
func established(t *testing.T, name string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := apitest.Client(t).Get(context.Background(), client.ObjectKey{Name: name}, crd); err != nil {
			t.Fatal(err)
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s is not served", name)
}

func TestDefinitions(t *testing.T) {
	ns := apitest.Namespace(t)
	name := "volume"
	serve(t, definitionOf(name))
	for i := range 3 {
		applyText(t, ns, fmt.Sprintf("apiVersion: apps.cozystack.io/v1alpha1\nkind: Volume\nmetadata: {name: v%d}\nspec: {size: %d}\n", i, i+1))
	}
	file := filepath.Join(t.TempDir(), "volume.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if got := yuba(t, ns, "definition", "list"); got.code != ui.ExitOK || !strings.Contains(got.out, "volume   Volume   Terraform   0") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.news)
	}
	example := "apiVersion: apps.cozystack.io/v1alpha1\nkind: Volume\nmetadata:\n  name: v9\nspec:\n  # (string; one of \"fast\", \"slow\")\n  # tier: slow\n  # Size in GiB. (integer; required)\n  size: 1\n"
	yuba(t, ns, "definition", "example", name, "--name", "v9").want(t, ui.ExitOK, example)
	applyText(t, ns, example) // it is what the API accepts
	docs := yuba(t, ns, "definition", "docs", name)
	if docs.code != ui.ExitOK || !strings.Contains(docs.out, "| `size` | integer, required |  | Size in GiB. At least 1. |") || !strings.Contains(docs.out, "- `endpoint`") {
		t.Errorf("code %d: %s%s", docs.code, docs.out, docs.news)
	}

	write(definitionOf(name))
	yuba(t, ns, "definition", "diff", "-f", file).want(t, ui.ExitOK, "")
	write(strings.Replace(definitionOf(name), "outputs: [endpoint]", "approvePlan: auto", 1))
	yuba(t, ns, "definition", "diff", "-f", file, "--summary").want(t, ui.ExitDifferent, "Terraform of "+ns+"/v0, "+ns+"/v1, "+ns+"/v2 and 1 more: 2 fields\n")
	var answer struct {
		Instances, Unchanged int
		Groups               []struct{ Instances []string }
	}
	got := yuba(t, ns, "definition", "diff", "-f", file, "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil || answer.Instances != 4 || len(answer.Groups) != 1 || len(answer.Groups[0].Instances) != 4 {
		t.Errorf("%v: %s%s", err, got.out, got.news)
	}
	write(strings.Replace(definitionOf(name), `"minimum":1`, `"minimum":2`, 1))
	if got = yuba(t, ns, "definition", "diff", "-f", file); got.code != ui.ExitDiffFailed || !strings.Contains(got.out, "✗ Volume "+ns+"/v0 does not fit:") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.news)
	}
	write(strings.Replace(definitionOf(name), `"type":"object"`, `"type":"string"`, 1))
	if got = yuba(t, ns, "definition", "docs", "-f", file); got.code != ui.ExitFailure || !strings.Contains(got.news, "the spec of an application is an object") {
		t.Errorf("code %d: %s%s", got.code, got.out, got.news)
	}
	if got = yuba(t, ns, "definition", "docs", "gone"); got.code != ui.ExitNotFound {
		t.Errorf("code %d: %s%s", got.code, got.out, got.news)
	}
}
