// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const renderedChart = `# Source: yuba
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: terraforms.infra.contrib.fluxcd.io}
---
# Only a comment.
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: yuba, namespace: infra, annotations: {helm.sh/resource-policy: keep}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: plain, namespace: infra}
---
apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: v1
kind: Namespace
metadata: {name: yuba-system}
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: infra, annotations: {helm.sh/resource-policy: keep}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: yuba, namespace: infra}
`

// TestARemovalOfTheComponentYubaKeepsItsData runs the module's own decisions, without the provider that applies them.
func TestARemovalOfTheComponentYubaKeepsItsData(t *testing.T) {
	for name, c := range map[string]struct{ text, fails string }{
		"a rendered chart":               {renderedChart, ""},
		"with other ends of lines":       {strings.ReplaceAll(renderedChart, "\n", "\r\n"), ""},
		"a document that is not YAML":    {renderedChart + "---\nkind: [\n", "It begins with: kind: ["},
		"a document without a name":      {renderedChart + "---\nkind: ConfigMap\n", "It begins with: kind: ConfigMap"},
		"a document that is not a map":   {renderedChart + "---\nError: no values\n", "It begins with: Error: no values"},
		"the chart without a Deployment": {strings.Split(renderedChart, "---\napiVersion: apps/v1")[0], "lacks the kinds or the rendered chart"},
	} {
		t.Run(name, func(t *testing.T) {
			from, dir := filepath.Join(modules(t), "yuba"), t.TempDir()
			main, err := os.ReadFile(filepath.Join(from, "main.tf"))
			if err != nil {
				t.Fatal(err)
			}
			_, check, found := strings.Cut(string(main), "resource \"terraform_data\"")
			if !found || !strings.Contains(string(main), "apply_only        = contains(local.kept, each.key)") {
				t.Fatal("main.tf does not use what this test looks at")
			}
			files := map[string]string{"check.tf": "resource \"terraform_data\"" + check, "manifests/yuba.yaml": c.text,
				"outputs.tf": "variable \"namespace\" {\n  default = \"yuba-system\"\n}\noutput \"kept\" {\n  value = local.kept\n}\noutput \"rest\" {\n  value = keys(local.rest)\n}\n"}
			locals, err := os.ReadFile(filepath.Join(from, "locals.tf"))
			if err != nil {
				t.Fatal(err)
			}
			files["locals.tf"] = string(locals)
			for name, text := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := newShell(t, t.TempDir())
			s.must(dir, "init", "-input=false", "-no-color")
			out, err := s.tofu(dir, "apply", "-auto-approve", "-input=false", "-no-color")
			if c.fails != "" {
				if plain := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "); err == nil || !strings.Contains(plain, c.fails) {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			if err != nil {
				t.Fatal(err, out)
			}
			var got map[string]struct{ Value []string }
			if out := s.must(dir, "output", "-json"); json.Unmarshal([]byte(out), &got) != nil {
				t.Fatal(out)
			}
			if kept := strings.Join(got["kept"].Value, " "); kept != "Namespace/infra PersistentVolumeClaim/infra/plain PersistentVolumeClaim/infra/yuba Secret/infra/keys" {
				t.Errorf("a removal keeps %s", kept)
			}
			if len(got["rest"].Value) != 5 {
				t.Errorf("the objects are %v", got["rest"].Value)
			}
		})
	}
}
