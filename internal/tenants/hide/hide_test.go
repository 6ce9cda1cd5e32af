// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package hide

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const stackWithPassword = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: acme-db}
spec:
  path: db
  inline:
    db/main.tf: "variable \"password\" {\n  sensitive = true\n}\nvariable \"size\" {}\n"
    main.tf: "variable \"size\" {\n  sensitive = true\n}\n"
  vars:
  - {name: password, value: s3cr3t}
  - {name: size, value: "10"}
  - {name: other, valueFrom: {secretKeyRef: {name: a, key: b}}}
`

func TestWhatIsHiddenOfWhatATemplateMakes(t *testing.T) {
	for sentence, test := range map[string]struct {
		text   string
		hidden bool
	}{
		"a variable that the program declares as sensitive": {stackWithPassword, true},
		"of values.hcl as well":                             {`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {values: {hcl: "variable \"p\" {\n  sensitive = true\n}"}, vars: [{name: p, value: s3cr3t}]}}`, true},
		"a Secret":                                          {`{apiVersion: v1, kind: Secret, data: {a: s3cr3t}, stringData: {b: s3cr3t}}`, true},
		"not a ConfigMap":                                   {`{apiVersion: v1, kind: ConfigMap, data: {a: s3cr3t}}`, false},
		"not what no program is known to hide":              {`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {sourceRef: {kind: GitRepository, name: x}, vars: [{name: p, value: s3cr3t}]}}`, false},
		"nor what is no manifest":                           {`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {vars: s3cr3t}}`, false},
	} {
		u := parsed(t, test.text)
		before, _ := u.MarshalJSON()
		shown, err := Secrets(u).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(shown), "s3cr3t") == test.hidden {
			t.Errorf("%s: %s", sentence, shown)
		}
		if after, _ := u.MarshalJSON(); string(before) != string(after) {
			t.Errorf("%s: the object itself was changed", sentence)
		}
	}
	shown, _ := yaml.Marshal(Secrets(parsed(t, stackWithPassword)).Object)
	for _, want := range []string{"name: password\n    value: <sensitive>", `value: "10"`, "secretKeyRef"} {
		if !strings.Contains(string(shown), want) {
			t.Errorf("%s lacks %s", shown, want)
		}
	}
}

func TestOnlyThatASensitiveVariableChangesIsShown(t *testing.T) {
	was := parsed(t, stackWithPassword)
	for sentence, test := range map[string]struct {
		text string
		want []diff.Field
	}{
		"another value": {strings.Replace(stackWithPassword, "s3cr3t", "n3xt", 1),
			[]diff.Field{{Path: "/spec/vars/0/value", Before: "<sensitive> (before)", After: "<sensitive> (after)"}}},
		"the same value": {stackWithPassword, nil},
		"a variable that is sensitive no more": {strings.NewReplacer("sensitive = true", "sensitive = false", "s3cr3t", "n3xt").Replace(stackWithPassword),
			[]diff.Field{{Path: "/spec/vars/0/value", Before: "<sensitive> (before)", After: "<sensitive> (after)"}}},
		"one that goes": {strings.Replace(stackWithPassword, "  - {name: password, value: s3cr3t}\n", "", 1), nil},
	} {
		fields := diff.Fields(Changes(was, parsed(t, test.text)))
		text, err := yaml.Marshal(fields)
		if err != nil || strings.Contains(string(text), "s3cr3t") || strings.Contains(string(text), "n3xt") {
			t.Errorf("%s: %v\n%s", sentence, err, text)
		}
		for _, want := range test.want {
			found := false
			for _, f := range fields {
				found = found || f == want
			}
			if !found {
				t.Errorf("%s: got %+v, want %+v", sentence, fields, want)
			}
		}
		if test.want == nil && sentence == "the same value" && len(fields) > 0 {
			t.Errorf("%s: %+v", sentence, fields)
		}
	}
}
