// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// baseType is the type of the contract of most tests.
const baseType = "object({vpc_id = string, subnets = list(string), note = optional(string)})"

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// world is a book on objects in memory, with a real store of blobs.
type world struct {
	*Book
	client client.Client
}

func newWorld(t testing.TB, objs ...client.Object) *world {
	t.Helper()
	key, err := blob.LoadOrCreateKey(t.TempDir() + "/key")
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+t.TempDir(), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() }) //nolint:errcheck // the directory goes anyway
	b := fake.NewClientBuilder().WithScheme(kubetest.Scheme()).WithObjects(objs...).WithStatusSubresource(&infrav1.Terraform{}, &yubav1.Contract{})
	for index, keys := range map[string]func(*infrav1.Terraform) []string{indexProducers: producersOf, indexPublished: publishedBy, indexConsumed: consumedBy} {
		b = b.WithIndex(&infrav1.Terraform{}, index, func(o client.Object) []string { return keys(o.(*infrav1.Terraform)) })
	}
	c := b.Build()
	return &world{&Book{Cache: c, Store: &revisions.Store{Blobs: blobs}}, c}
}

// stack makes a stack of the namespace prod, or of another one.
func stack(name string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID("uid-of-" + name)}}
	for _, f := range change {
		f(t)
	}
	return t
}

func publishing(contract, version, output string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.Publishes = append(t.Spec.Publishes, infrav1.Publication{Contract: contract, Version: version, Value: output})
	}
}

func consuming(contract, versions, producer string, change ...func(*infrav1.Consumption)) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		c := infrav1.Consumption{Contract: contract, Version: versions, From: infrav1.ProducerReference{Namespace: "prod", Name: producer}, As: contract}
		for _, f := range change {
			f(&c)
		}
		t.Spec.Consumes = append(t.Spec.Consumes, c)
	}
}

// contract makes a contract whose versions were admitted.
func contract(name string, editions ...string) *yubav1.Contract {
	c := &yubav1.Contract{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID("uid-of-contract-" + name)}}
	for i := 0; i+1 < len(editions); i += 2 {
		c.Spec.Version, c.Spec.Type = editions[i], editions[i+1]
		c.Status.Versions = append(c.Status.Versions, yubav1.ContractVersion{Version: editions[i], Type: editions[i+1]})
	}
	return c
}

// declares is a program with variables of these types, by name; "secret " before a type makes it
// sensitive.
func declares(types map[string]string) Variables {
	return func(name string) (v shape.Variable, declared, known bool) {
		text, ok := types[name]
		if !ok {
			return v, false, true
		}
		v.Nullable = true
		if rest := text[min(len(text), len("secret ")):]; len(text) > len("secret ") && text[:len("secret ")] == "secret " {
			v.Secret, text = true, rest
		}
		ty, err := shape.Parse(text)
		if err != nil {
			panic(err)
		}
		v.Type = ty
		return v, true, true
	}
}

// consume resolves what a stack consumes, and writes it to its status as the stack controller does.
func (w *world) consume(t testing.TB, name types.NamespacedName, types map[string]string) *Consumption {
	t.Helper()
	obj := w.get(t, name)
	c, err := w.Consume(t.Context(), obj, declares(types))
	if err != nil {
		t.Fatal(err)
	}
	w.status(t, obj, func(s *infrav1.TerraformStatus) { s.Contracts = &infrav1.ContractsStatus{Consumes: c.Status} })
	return c
}

func (w *world) get(t testing.TB, name types.NamespacedName) *infrav1.Terraform {
	t.Helper()
	var obj infrav1.Terraform
	if err := w.client.Get(t.Context(), name, &obj); err != nil {
		t.Fatal(err)
	}
	return &obj
}

func (w *world) status(t testing.TB, obj *infrav1.Terraform, change func(*infrav1.TerraformStatus)) {
	t.Helper()
	change(&obj.Status)
	if err := w.client.Status().Update(context.WithoutCancel(t.Context()), obj); err != nil {
		t.Fatal(err)
	}
}

// publish publishes outputs of a stack, given as TYPE and VALUE in JSON by name.
func (w *world) publish(t testing.TB, stack string, outputs map[string][2]string, change ...func(*Applied)) *Published {
	t.Helper()
	obj := w.get(t, in("prod", stack))
	a := Applied{Outputs: map[string]json.RawMessage{}, Run: "run-1", SourceRevision: "main@sha1:1", Now: now}
	for name, o := range outputs {
		a.Outputs[name] = json.RawMessage(`{"sensitive":false,"type":` + o[0] + `,"value":` + o[1] + `}`)
	}
	for _, f := range change {
		f(&a)
	}
	p, err := w.Publish(t.Context(), obj, a)
	if err != nil {
		t.Fatal(err)
	}
	w.status(t, obj, func(s *infrav1.TerraformStatus) {
		s.Contracts = &infrav1.ContractsStatus{Published: p.Revisions, Problem: p.Problem}
	})
	return p
}

func in(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// object is an output with the type and value of JSON.
func object(ty, value string) map[string][2]string { return map[string][2]string{"base": {ty, value}} }

const baseOutput = `["object",{"vpc_id":"string","subnets":["list","string"]}]`
