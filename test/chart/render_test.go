// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

const chartDir = "../../charts/yuba"

// kubernetes is the oldest version that the chart supports.
var kubernetes = common.KubeVersion{Version: "v1.27.0", Major: "1", Minor: "27"}

// rendered is an installation of the chart.
type rendered struct{ manifests, notes string }

// render makes the manifests of a release named yuba in the namespace yuba-system.
func render(values map[string]any) (rendered, error) { return renderAs("yuba", "yuba-system", values) }

func renderAs(name, namespace string, values map[string]any) (rendered, error) {
	c, err := loader.Load(chartDir)
	if err != nil {
		return rendered{}, err
	}
	i := action.NewInstall(action.NewConfiguration())
	i.DryRunStrategy, i.ReleaseName, i.Namespace = action.DryRunClient, name, namespace
	i.KubeVersion = &kubernetes
	answer, err := i.Run(c, values)
	if err != nil {
		return rendered{}, err
	}
	r := answer.(*release.Release)
	text := strings.TrimSpace(r.Manifest)
	for _, hook := range r.Hooks {
		text += fmt.Sprintf("\n---\n# Source: %s\n%s", hook.Path, strings.TrimSpace(hook.Manifest))
	}
	return rendered{text + "\n", strings.TrimSpace(r.Info.Notes) + "\n"}, nil
}

// sets are the folders of testdata with values.
func sets(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*/values.yaml")
	if err != nil || len(found) == 0 {
		t.Fatalf("find the sets of values: %v, %v", found, err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

func valuesOf(t *testing.T, set string) map[string]any {
	t.Helper()
	return parse(t, string(read(t, filepath.Join(set, "values.yaml"))))
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatalf("read values: %v", err)
	}
	return values
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// eachSet renders every set of values.
func eachSet(t *testing.T, check func(t *testing.T, set string, r rendered)) {
	t.Helper()
	for _, set := range sets(t) {
		t.Run(filepath.Base(set), func(t *testing.T) {
			r, err := render(valuesOf(t, set))
			if err != nil {
				t.Fatal(err)
			}
			check(t, set, r)
		})
	}
}

func TestManifestsAndNotes(t *testing.T) {
	eachSet(t, func(t *testing.T, set string, r rendered) {
		for name, got := range map[string]string{"manifests.yaml": r.manifests, "notes.txt": r.notes} {
			path := filepath.Join(set, name)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if want := string(read(t, path)); got != want {
				t.Errorf("%s differs%s\nIf that is right:\n    go -C test/chart test . -update", path, firstDifference(want, got))
			}
		}
	})
}

func firstDifference(want, got string) string {
	wanted, lines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(lines)) {
		if wanted[i] != lines[i] {
			return fmt.Sprintf(" at line %d:\n- %s\n+ %s", i+1, wanted[i], lines[i])
		}
	}
	return fmt.Sprintf(": want %d lines, got %d", len(wanted), len(lines))
}

func TestLint(t *testing.T) {
	for _, set := range sets(t) {
		t.Run(filepath.Base(set), func(t *testing.T) {
			lint := action.NewLint()
			lint.Strict = true
			for _, err := range lint.Run([]string{chartDir}, valuesOf(t, set)).Errors {
				t.Error(err)
			}
		})
	}
}
