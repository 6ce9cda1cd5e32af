// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

func TestTornState(t *testing.T) {
	newest := state.Version{ID: "01767225600000000000-4", Serial: 4, Lineage: "l"}
	for sentence, c := range map[string]struct {
		current *statefile.File
		want    string
	}{
		"the state is the newest version":          {&statefile.File{Serial: 4, Lineage: "l"}, ""},
		"a large state knows no lineage":           {&statefile.File{Serial: 4}, ""},
		"the state is older":                       {&statefile.File{Serial: 3, Lineage: "l"}, "yuba state rollback vpc 01767225600000000000-4 -n team"},
		"the backup has no state, but versions":    {nil, "has no state"},
		"the state has another lineage":            {&statefile.File{Serial: 9, Lineage: "m"}, "newer version"},
		"a state that nobody has stored is newest": {&statefile.File{Serial: 5, Lineage: "l"}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := tornState("team", "vpc", c.current, newest); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestCurrentState(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte(`{"version":4,"serial":7,"lineage":"l","resources":[],"outputs":{}}`)) //nolint:errcheck // to memory
	w.Close()                                                                             //nolint:errcheck // to memory
	small := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"tfstate": base64.StdEncoding.EncodeToString(packed.Bytes())}}}
	if got, err := currentState(small); err != nil || got.Serial != 7 || got.Lineage != "l" {
		t.Errorf("%+v %v", got, err)
	}
	large := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"tfstate": "bm90ZQ=="}}}
	large.SetAnnotations(map[string]string{state.AnnotationStateBlob: "states/team/vpc/01767225600000000000-4"})
	if got, err := currentState(large); err != nil || got.Serial != 4 {
		t.Errorf("%+v %v", got, err)
	}
}
