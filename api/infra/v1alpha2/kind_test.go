// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Flux's libraries and kubectl work on these interfaces.
var (
	_ meta.ObjectWithConditions                    = (*Terraform)(nil)
	_ meta.ObjectWithConditionsSetter              = (*Terraform)(nil)
	_ meta.StatusWithHandledReconcileRequest       = (*TerraformStatus)(nil)
	_ meta.StatusWithHandledReconcileRequestSetter = (*TerraformStatus)(nil)
)

func TestASchemeKnowsTheKind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, object := range map[string]runtime.Object{Kind: &Terraform{}, Kind + "List": &TerraformList{}} {
		kinds, _, err := scheme.ObjectKinds(object)
		if err != nil || len(kinds) != 1 || kinds[0] != GroupVersion.WithKind(kind) {
			t.Errorf("%T is %v (%v), want %v", object, kinds, err, GroupVersion.WithKind(kind))
		}
	}
}

func TestAStackThatWasNeverSeenHasNoStatus(t *testing.T) {
	object := stack(TerraformSpec{Interval: *minutes(10), Inline: map[string]string{"main.tf": ""}})
	want := `{"metadata":{"name":"network","namespace":"team-a"},"spec":{"interval":"10m0s","inline":{"main.tf":""}}}`
	written, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(written)); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := converted["status"]; ok {
		t.Errorf("as an unstructured object it has the status %v", converted["status"])
	}
}

func TestConditionsAreKeptAsTheyAreSet(t *testing.T) {
	var s Terraform
	conditions := []metav1.Condition{{Type: ConditionReady, Status: metav1.ConditionTrue}}
	s.SetConditions(conditions)
	if diff := cmp.Diff(conditions, s.GetConditions()); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	long := strings.Repeat("ü", MaxMessageLength)
	for sentence, test := range map[string]struct{ message, want string }{
		"an empty message stays":         {"", ""},
		"a message that just fits stays": {long, long},
		"a longer one is cut and marked": {long + "x", long + "..."},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := TrimMessage(test.message); got != test.want {
				t.Errorf("TrimMessage returned %d bytes, want %d", len(got), len(test.want))
			}
		})
	}
}

func TestASourceIsNamedByKindNamespaceAndName(t *testing.T) {
	for want, ref := range map[string]CrossNamespaceSourceReference{
		"Bucket/a":       {Kind: "Bucket", Name: "a"},
		"Bucket/other/a": {Kind: "Bucket", Name: "a", Namespace: "other"},
	} {
		if got := ref.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

// Scripts compare reasons, so no two constants may be equal, and each has a doc comment.
func TestReasonsAreDistinctAndExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		name := spec.Names[0].Name
		if !strings.HasPrefix(spec.Doc.Text(), name+": ") {
			t.Errorf("%s is explained as %q", name, spec.Doc.Text())
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok {
			if other, ok := seen[value.Value]; ok {
				t.Errorf("%s and %s are both %s", name, other, value.Value)
			}
			seen[value.Value] = name
		}
		return true
	})
	if len(seen) < 30 {
		t.Errorf("only %d reasons were checked", len(seen))
	}
}
