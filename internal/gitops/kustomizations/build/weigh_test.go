// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

// A file with many references is in memory many times: megabytes must not become gigabytes.
func TestWhatIsReferredToOftenIsBounded(t *testing.T) {
	generated, listed := "secretGenerator:\n- name: g\n  files:\n", "resources:\n"
	overlays := map[string]string{"base/kustomization.yaml": "resources: [../large.yaml]\n",
		"large.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: " + strings.Repeat("a", 1<<20) + "\n"}
	for i := range 80 {
		generated += fmt.Sprintf("  - k%d=large.bin\n", i)
		listed += fmt.Sprintf("- o%d\n", i)
		overlays[fmt.Sprintf("o%d/kustomization.yaml", i)] = fmt.Sprintf("nameSuffix: -s%d\nresources: [../base]\n", i)
	}
	overlays["kustomization.yaml"] = listed
	for name, tree := range map[string]map[string]string{
		"a generator": {"kustomization.yaml": generated, "large.bin": strings.Repeat("a", 1<<20)},
		"overlays":    overlays,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), Input{Object: spec(func(*kustomizev1.KustomizationSpec) {}), Dir: files(t, tree)})
			var limit *LimitError
			if !errors.As(err, &limit) {
				t.Errorf("error: %v", err)
			}
		})
	}
}
