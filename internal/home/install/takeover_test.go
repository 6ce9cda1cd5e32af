// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/home/install"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// existing installs a kind as somebody else would.
func existing(t *testing.T, content string, change ...func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(content), &d); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&d)
	}
	if err := apitest.Client(t).Create(t.Context(), &d); err != nil {
		t.Fatal(err)
	}
}

func takeover(t *testing.T, content string, rights install.Rights) (install.Step, error) {
	t.Helper()
	steps, err := install.Takeover(t.Context(), apitest.API(t).RESTConfig(), file(content), rights)
	if len(steps) != 1 {
		t.Fatalf("steps %v, error %v; want one step", steps, err)
	}
	return steps[0], err
}

// regroup moves a test's kind to another group.
func regroup(content, plural, group string) string {
	return strings.ReplaceAll(content, plural+".example.com", group)
}

func TestTakeoverDecides(t *testing.T) {
	versionTwo := func(d *apiextensionsv1.CustomResourceDefinition) {
		second := *d.Spec.Versions[0].DeepCopy()
		second.Name, second.Storage = "v2", false
		d.Spec.Versions = append(d.Spec.Versions, second)
	}
	for sentence, c := range map[string]struct {
		plural, group  string
		theirs, ours   string
		change         func(*apiextensionsv1.CustomResourceDefinition)
		rights         install.Rights
		want           install.Verb
		lost           []string
		reason, failed string
	}{
		"a new kind: create": {plural: "figs", ours: "colour", want: install.Create, reason: "not installed"},
		"another's kind without more fields: replace": {plural: "limes", theirs: "colour", ours: "colour", want: install.Replace,
			reason: "Yuba's version has all its fields"},
		"another's kind with a field that ours lacks: refuse": {plural: "melons", theirs: "weight", ours: "colour", want: install.Refuse,
			reason: "it is newer than Yuba's", lost: []string{"v1 .weight"}, failed: "Yuba's lacks v1 .weight"},
		"and if the fields may be dropped: replace": {plural: "dates", theirs: "weight", ours: "colour", rights: install.Rights{DropFields: true},
			want: install.Replace, reason: "its additional fields may be dropped", lost: []string{"v1 .weight"}},
		"another's kind with a version that ours lacks: refuse": {plural: "olives", theirs: "colour", ours: "colour", change: versionTwo,
			want: install.Refuse, reason: "it is newer than Yuba's", lost: []string{"version v2"}, failed: "version v2"},
		"a kind of Flux: keep": {plural: "kiwis", group: "kiwis.toolkit.fluxcd.io", theirs: "weight", ours: "colour", want: install.Keep,
			reason: "Flux installed it"},
		"a kind of tenants: keep": {plural: "quinces", group: "operator.kubernetes-tenants.org", theirs: "colour", ours: "colour",
			want: install.Keep, reason: "Tenant Operator installed it; --take-tenants replaces it"},
		"a kind of tenants, to be taken: replace": {plural: "papayas", group: "operator.kubernetes-tenants.org", theirs: "colour", ours: "colour",
			rights: install.Rights{TakeTenants: true}, want: install.Replace, reason: "Yuba's version has all its fields"},
	} {
		t.Run(sentence, func(t *testing.T) {
			place := func(property string) string {
				if c.group == "" {
					return kind(c.plural, property)
				}
				return regroup(kind(c.plural, property), c.plural, c.group)
			}
			if c.theirs != "" {
				existing(t, place(c.theirs), func(d *apiextensionsv1.CustomResourceDefinition) {
					if c.change != nil {
						c.change(d)
					}
				})
			}
			got, err := takeover(t, place(c.ours), c.rights)
			want := install.Step{Name: got.Name, Verb: c.want, Reason: c.reason, Lost: c.lost}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
			var refused *install.RefusedError
			if errors.As(err, &refused) != (c.want == install.Refuse) || (err != nil) != (c.want == install.Refuse) {
				t.Fatalf("error %v", err)
			}
			if c.failed != "" && !strings.Contains(err.Error(), c.failed) {
				t.Errorf("error %v, want one that says %q", err, c.failed)
			}
		})
	}
}

func TestTakeoverOfOwnKinds(t *testing.T) {
	mustInstall(t, kind("mangos", "colour"))
	if got, err := takeover(t, kind("mangos", "colour"), install.Rights{}); err != nil || got.Verb != install.Keep {
		t.Errorf("the same definition: %v, %v", got, err)
	}
	got, err := takeover(t, kind("mangos", "size"), install.Rights{})
	if err == nil || got.Reason != "a newer Yuba installed it" {
		t.Errorf("a definition without one of its fields: %v, %v", got, err)
	}
}

// A tool that applies another definition leaves Yuba's annotation.
func TestAChangedKindIsNotTakenToBeUpToDate(t *testing.T) {
	for sentence, c := range map[string]struct {
		plural, property string
		remove           bool
		want             install.Verb
		reason           string
	}{
		"it lacks a field":           {"currants", "", true, install.Replace, "somebody changed it"},
		"it has an unknown field":    {"medlars", "weight", false, install.Refuse, "somebody added to it"},
		"it has just what it had":    {"sloes", "", false, install.Keep, "up to date"},
		"another field in its place": {"damsons", "weight", true, install.Refuse, "somebody added to it"},
	} {
		t.Run(sentence, func(t *testing.T) {
			mustInstall(t, kind(c.plural, "colour"))
			d := get(t, c.plural+"."+c.plural+".example.com")
			properties := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
			if c.remove {
				delete(properties, "colour")
			}
			if c.property != "" {
				properties[c.property] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			}
			if err := apitest.Client(t).Update(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if got, _ := takeover(t, kind(c.plural, "colour"), install.Rights{}); got.Verb != c.want || got.Reason != c.reason {
				t.Errorf("step %v, want %s: %s", got, c.want, c.reason)
			}
		})
	}
}

// Flux may be installed after Yuba has installed its kinds. From then on they are Flux's.
func TestAKindThatFluxTookOverIsKept(t *testing.T) {
	const group = "elders.toolkit.fluxcd.io"
	ours := regroup(kind("elders", "colour"), "elders", group)
	mustInstall(t, ours)
	d := get(t, "elders."+group)
	d.Labels = map[string]string{"app.kubernetes.io/part-of": "flux"}
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["weight"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	if err := apitest.Client(t).Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{ours, regroup(kind("elders", "size"), "elders", group)} {
		if got, err := takeover(t, content, install.Rights{}); err != nil || got.Verb != install.Keep || got.Reason != "Flux installed it" {
			t.Errorf("step %v, error %v", got, err)
		}
	}
}

func TestARefusalChangesNoKind(t *testing.T) {
	existing(t, kind("grapes", "weight"))
	kinds := fstest.MapFS{"a.yaml": {Data: []byte(kind("cherries", "colour"))}, "b.yaml": {Data: []byte(kind("grapes", "colour"))}}
	steps, err := install.Takeover(t.Context(), apitest.API(t).RESTConfig(), kinds, install.Rights{})
	if err == nil || len(steps) != 2 || steps[0].Verb != install.Create || steps[1].Verb != install.Refuse {
		t.Fatalf("steps %v, error %v", steps, err)
	}
	again, err := install.Plan(t.Context(), apitest.API(t).RESTConfig(), kinds, install.Rights{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(steps, again); diff != "" {
		t.Errorf("the refused installation changed something (-before +now):\n%s", diff)
	}
}

func TestAKindOfAHelmReleaseIsWarnedOf(t *testing.T) {
	existing(t, kind("lemons", "colour"), func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Annotations = map[string]string{"meta.helm.sh/release-name": "tofu-controller", "meta.helm.sh/release-namespace": "flux-system"}
	})
	got, err := takeover(t, kind("lemons", "colour"), install.Rights{})
	if err != nil || !strings.Contains(got.Warning, "kubectl -n flux-system delete secret -l owner=helm,name=tofu-controller") {
		t.Errorf("step %v, error %v", got, err)
	}
}

// The definition of tofu-controller 0.16.5 has no field that Yuba's lacks.
func TestTheKindOfTofuControllerIsReplaced(t *testing.T) {
	const kinds, of = "../../../config/crd/", "infra.contrib.fluxcd.io"
	theirs, ours := readFile(t, kinds+"testdata/tofu-controller.yaml"), readFile(t, kinds+"infra.contrib.fluxcd.io_terraforms.yaml")
	existing(t, strings.ReplaceAll(theirs, "GROUP", "infra.takeover.example.com"))
	got, err := takeover(t, strings.ReplaceAll(ours, of, "infra.takeover.example.com"), install.Rights{})
	if err != nil || got.Verb != install.Replace {
		t.Errorf("step %v, error %v", got, err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnAPIThatCannotBeReached(t *testing.T) {
	_, err := install.Takeover(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, crd.FS, install.Rights{})
	if err == nil || !strings.Contains(err.Error(), "read the installed kind") {
		t.Errorf("error %v", err)
	}
}
