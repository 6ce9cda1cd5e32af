// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// graph is a cache of stacks: "namespace/name" to its dependencies, in the same form.
type graph map[string][]string

func (g graph) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	if _, ok := g[key.String()]; !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "terraforms"}, key.Name)
	}
	g.stack(key.String()).DeepCopyInto(out.(*infrav1.Terraform))
	return nil
}

func (g graph) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	of, _ := o.FieldSelector.RequiresExactMatch(indexDependencies)
	for name, on := range g {
		for _, d := range on {
			if d == of {
				out := list.(*infrav1.TerraformList)
				out.Items = append(out.Items, *g.stack(name))
			}
		}
	}
	return nil
}

func (g graph) stack(name string) *infrav1.Terraform {
	key := named(name)
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	for _, d := range g[name] {
		on := named(d)
		ref := meta.NamespacedObjectReference{Namespace: on.Namespace, Name: on.Name}
		if on.Namespace == key.Namespace {
			ref.Namespace = ""
		}
		t.Spec.DependsOn = append(t.Spec.DependsOn, ref)
	}
	return t
}

func named(name string) types.NamespacedName {
	namespace, name, _ := strings.Cut(name, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// relate gathers a stack's relations in a graph.
func relate(t *testing.T, g graph, name string, crossNamespace bool) *gathered {
	t.Helper()
	r := &Reconciler{stacks: g, Rules: reads.Rules{AllowCrossNamespace: crossNamespace}}
	p := &passOver(g.stack(name)).gathered
	var err error
	if p.dependants, err = relativesOf(r).dependants(t.Context(), named(name)); err != nil {
		t.Fatal(err)
	}
	if err := relativesOf(r).gatherRelations(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAllMembersNameACycleAlike(t *testing.T) {
	for sentence, test := range map[string]struct {
		graph   graph
		members []string
		outside []string
		want    string
	}{
		"a stack that depends on itself":                    {graph{"t/a": {"t/a"}}, []string{"t/a"}, nil, "a -> a"},
		"two that depend on each other":                     {graph{"t/a": {"t/b"}, "t/b": {"t/a"}}, []string{"t/a", "t/b"}, nil, "a -> b -> a"},
		"the order of names does not matter":                {graph{"t/c": {"t/a"}, "t/b": {"t/c"}, "t/a": {"t/b"}}, []string{"t/a", "t/b", "t/c"}, nil, "a -> b -> c -> a"},
		"a stack that depends on a cycle is not part of it": {graph{"t/a": {"t/b"}, "t/b": {"t/a"}, "t/x": {"t/a"}, "t/y": {"t/x"}}, []string{"t/a", "t/b"}, []string{"t/x", "t/y"}, "a -> b -> a"},
		"a stack that a cycle depends on is not part of it": {graph{"t/a": {"t/b", "t/x"}, "t/b": {"t/a"}, "t/x": nil}, []string{"t/a", "t/b"}, []string{"t/x"}, "a -> b -> a"},
		"across namespaces":                                 {graph{"t/a": {"u/a"}, "u/a": {"t/a"}}, []string{"t/a", "u/a"}, nil, "t/a -> u/a -> t/a"},
		"a diamond is not a cycle":                          {graph{"t/a": {"t/b", "t/c"}, "t/b": {"t/d"}, "t/c": {"t/d"}, "t/d": nil}, nil, []string{"t/a", "t/b", "t/c", "t/d"}, ""},
		"a missing dependency ends a path":                  {graph{"t/a": {"t/b"}, "t/b": {"t/gone"}}, nil, []string{"t/a", "t/b"}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			for _, m := range test.members {
				if got := relate(t, test.graph, m, true).facts.Cycle; got != test.want {
					t.Errorf("%s says %q, want %q", m, got, test.want)
				}
			}
			for _, o := range test.outside {
				if got := relate(t, test.graph, o, true).facts.Cycle; got != "" {
					t.Errorf("%s says %q", o, got)
				}
			}
		})
	}
}

func TestDependantsBlockDeletion(t *testing.T) {
	g := graph{"t/vpc": nil, "t/app": {"t/vpc"}, "t/web": {"t/vpc", "t/app"}, "u/app": {"t/vpc"}, "t/a": {"t/b"}, "t/b": {"t/a"}, "t/c": {"t/a"}}
	for _, test := range []struct {
		stack string
		cross bool
		want  []string
	}{
		{"t/vpc", true, []string{"app", "u/app", "web"}},
		// Other namespaces may not depend on it, so they do not keep it.
		{"t/vpc", false, []string{"app", "web"}},
		{"t/app", true, []string{"web"}},
		{"t/web", true, nil},
		// On a cycle, one stack has to go first.
		{"t/a", true, []string{"c"}},
		{"t/b", true, nil},
	} {
		if diff := cmp.Diff(test.want, relate(t, g, test.stack, test.cross).facts.Dependants); diff != "" {
			t.Errorf("%s, across namespaces %v (-want +got):\n%s", test.stack, test.cross, diff)
		}
	}
}

func TestDependenciesOfOtherNamespacesMayBeDenied(t *testing.T) {
	g := graph{"t/app": {"u/vpc"}, "u/vpc": nil}
	if d := relate(t, g, "t/app", false).facts.Dependencies[0]; !d.Denied || d.Name != "u/vpc" {
		t.Errorf("not allowed: %+v", d)
	}
	if d := relate(t, g, "t/app", true).facts.Dependencies[0]; d.Denied || d.Name != "u/vpc" {
		t.Errorf("allowed: %+v", d)
	}
}

func TestFinalizersOfDependants(t *testing.T) {
	long := strings.Repeat("very-", 20) + "long"
	seen := map[string]string{}
	for _, test := range []struct{ dependant, namespace, want string }{
		{"t/app", "t", "tf.dependency.of.app"},
		{"u/app", "t", "tf.dependency.of.u/app"},
		{"v/app", "t", "tf.dependency.of.v/app"},
		{"t/app.v1", "t", "tf.dependency.of.app.v1"},
		{"t/" + long, "t", ""},
		{"u/" + long, "t", ""},
		{strings.Repeat("n", 63) + "/" + strings.Repeat("a", 63), "t", "tf.dependency.of." + strings.Repeat("n", 63) + "/" + strings.Repeat("a", 63)},
	} {
		got := dependencyFinalizer(named(test.dependant), test.namespace)
		if test.want != "" && got != test.want {
			t.Errorf("%s from %s: %q, want %q", test.dependant, test.namespace, got, test.want)
		}
		if problems := validation.IsQualifiedName(got); len(problems) > 0 || !strings.HasPrefix(got, infrav1.DependencyFinalizerPrefix) {
			t.Errorf("%s from %s: %q is not a valid finalizer: %v", test.dependant, test.namespace, got, problems)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same finalizer %q", test.dependant, other, got)
		}
		seen[got] = test.dependant
	}
}

func TestFinalizersFollowTheDependants(t *testing.T) {
	g := graph{"t/app": nil, "u/app": nil}
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "t", Name: "vpc"}}
	obj.Finalizers = []string{"tf.dependency.of.gone", "example.com/theirs", infrav1.Finalizer, "tf.dependency.of.app"}
	for _, test := range []struct{ dependants, want []string }{
		{nil, []string{"example.com/theirs", infrav1.Finalizer}},
		{[]string{"t/app"}, []string{"example.com/theirs", infrav1.Finalizer, "tf.dependency.of.app"}},
		{[]string{"u/app", "t/app"}, []string{"example.com/theirs", infrav1.Finalizer, "tf.dependency.of.app", "tf.dependency.of.u/app"}},
	} {
		var dependants []infrav1.Terraform
		for _, d := range test.dependants {
			dependants = append(dependants, *g.stack(d))
		}
		if diff := cmp.Diff(test.want, finalizersFor(obj, dependants)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.dependants, diff)
		}
	}
	obj.Finalizers = nil
	if diff := cmp.Diff([]string{infrav1.Finalizer}, finalizersFor(obj, nil)); diff != "" {
		t.Errorf("a new stack (-want +got):\n%s", diff)
	}
}

func TestWhichChangesWakeDependants(t *testing.T) {
	ready := func(t *infrav1.Terraform) { setReady(t, metav1.ConditionTrue, infrav1.ReasonApplied, "x") }
	working := func(t *infrav1.Terraform) { setReady(t, metav1.ConditionUnknown, infrav1.ReasonProgressing, "x") }
	circular := func(t *infrav1.Terraform) { setReady(t, metav1.ConditionFalse, infrav1.ReasonDependencyCycle, "x") }
	for sentence, test := range map[string]struct {
		was, is func(*infrav1.Terraform)
		want    bool
	}{
		"it became ready":                          {working, ready, true},
		"a run started":                            {ready, working, false},
		"it is ready as before":                    {ready, ready, false},
		"it is ready with another revision":        {ready, func(t *infrav1.Terraform) { ready(t); t.Status.LastPlannedRevision = "r2" }, true},
		"it is ready with other outputs":           {ready, func(t *infrav1.Terraform) { ready(t); t.Status.OutputsDigest = "d2" }, true},
		"a drift check found nothing":              {working, func(t *infrav1.Terraform) { working(t); t.Status.LastPlannedRevision = "r2" }, false},
		"its status has caught up with the object": {ready, func(t *infrav1.Terraform) { ready(t); t.Status.ObservedGeneration = 7 }, true},
		"its outputs were written":                 {ready, func(t *infrav1.Terraform) { ready(t); setCondition(t, infrav1.ConditionOutput, "True", "x", "x") }, true},
		"it became part of a cycle":                {working, circular, true},
		"it left a cycle":                          {circular, working, true},
		"it is being deleted":                      {ready, func(t *infrav1.Terraform) { ready(t); now := metav1.Now(); t.DeletionTimestamp = &now }, true},
	} {
		if got := tellsDependants(stackObject(test.was), stackObject(test.is)); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
