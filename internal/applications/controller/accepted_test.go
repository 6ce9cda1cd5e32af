// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/serving"
)

// TestADefinitionThatCannotBeKeptHasNoLimit: nothing could follow its base later. That is said at once, also
// of a definition without earlier revisions, and of one that sets its limit later.
func TestADefinitionThatCannotBeKeptHasNoLimit(t *testing.T) {
	text := make([]byte, 300<<10)
	for i, random := 0, rand.New(rand.NewPCG(1, 2)); i < len(text); i++ { //nolint:gosec // any text that cannot be compressed
		text[i] = byte(random.Uint32())
	}
	d := &appv1.ApplicationDefinition{Spec: appv1.ApplicationDefinitionSpec{Application: appv1.Application{Kind: "Bucket", Plural: "buckets", Singular: "bucket", OpenAPISchema: `{"type":"object"}`},
		Backend: &appv1.Backend{Type: appv1.BackendTerraform, Terraform: &appv1.TerraformBackend{Prefix: "bucket-", Inline: map[string]string{"main.tf": "# " + base64.StdEncoding.EncodeToString(text)}}}}}
	d.Name = "buckets"
	kind := func() *apiextensionsv1.CustomResourceDefinition {
		p, found := definition.Parse(d)
		if p == nil {
			t.Fatal(found)
		}
		live, err := serving.Kind(p)
		if err != nil {
			t.Fatal(err)
		}
		ledger, _ := revisions.Ledger{}.Accept(d, time.Now())
		ledger.Write(live.Annotations)
		return live
	}
	for sentence, c := range map[string]struct {
		live  *apiextensionsv1.CustomResourceDefinition
		limit *appv1.Rollout
		want  string
	}{
		"a new one with a limit":           {nil, &appv1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}, appv1.ReasonInvalid},
		"one that gets a limit":            {kind(), &appv1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}, appv1.ReasonInvalid},
		"one that is paused":               {kind(), &appv1.Rollout{Paused: true}, appv1.ReasonInvalid},
		"one that was accepted without it": {kind(), nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := d.DeepCopy()
			d.Spec.Rollout = c.limit
			p := &defining{Applications: &Applications{}, obj: d, live: c.live}
			p.parsed, _ = definition.Parse(d)
			if err := p.serve(t.Context()); err != nil || p.reason != c.want || c.want != "" && !strings.Contains(p.problem, "too large to be rolled out") {
				t.Errorf("%v, %s: %s", err, p.reason, p.problem)
			}
		})
	}
}
