// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/test/cloud"
)

// program is the program of every stack: the objects in its variable, and one with the output of
// the stack that it depends on.
const program = `
terraform {
  required_providers {
    yubatest = { source = "yuba-dev/yubatest" }
  }
}
provider "yubatest" {}
variable "stack" { type = string }
variable "objects" { type = map(string) }
variable "all" {
  type    = string
  default = ""
}
resource "yubatest_object" "o" {
  for_each = var.objects
  name     = "${var.stack}.${each.key}"
  content  = each.value
}
resource "yubatest_object" "copy" {
  count   = var.all == "" ? 0 : 1
  name    = "${var.stack}.copy"
  content = var.all
}
output "all" { value = jsonencode(var.objects) }
`

// stack is the desired state of a stack.
type stack struct {
	name string
	// below is the stack that it depends on, if any; own is true if its state is in a custom backend.
	below *stack
	own   bool
	// objects are the contents by key.
	objects map[string]string
	// changes counts the changes of the stack, and makes contents unique.
	changes int
	// asked are all contents that were ever desired, by object.
	asked map[string]map[string]bool
}

// wants are the objects that the cloud should have for a stack.
func (s *stack) wants() map[string]string {
	want := map[string]string{}
	for key, content := range s.objects {
		want[s.name+"."+key] = content
	}
	if s.below != nil {
		all, err := json.Marshal(s.below.objects)
		if err != nil {
			panic(err) // strings always encode
		}
		want[s.name+".copy"] = string(all)
	}
	return want
}

// note records the desired contents.
func (s *stack) note() {
	for name, content := range s.wants() {
		if s.asked[name] == nil {
			s.asked[name] = map[string]bool{}
		}
		s.asked[name][content] = true
	}
}

// fleet is the desired state of all stacks. Only one goroutine changes it.
type fleet struct {
	y     *yuba
	cloud *cloud.Cloud
	// address is the cloud's address for the stacks.
	address string
	client  client.Client
	rng     *rand.Rand
	// breaksLocks makes stacks with a custom backend break locks there, because killing tofu leaves
	// them.
	breaksLocks bool

	mu      sync.Mutex
	stacks  []*stack
	gone    []string
	made    int
	changes map[string]int
}

func newFleet(y *yuba, c *cloud.Cloud, address string, rng *rand.Rand) *fleet {
	return &fleet{y: y, cloud: c, address: address, client: y.client(), rng: rng, changes: map[string]int{}}
}

// grow adds stacks: every fourth depends on the previous one, every fifth has a custom backend.
func (f *fleet) grow(ctx context.Context, n int) error {
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.y.namespace, Name: "cloud"}, StringData: map[string]string{"token": f.cloud.Token()}}
	if err := insist(ctx, "make the credentials", func(ctx context.Context) error {
		return ignoreExisting(f.client.Create(ctx, credentials))
	}); err != nil {
		return err
	}
	for range n {
		if err := f.add(ctx); err != nil {
			return err
		}
	}
	return nil
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// add adds a stack.
func (f *fleet) add(ctx context.Context) error {
	f.mu.Lock()
	f.made++
	s := &stack{name: fmt.Sprintf("s%03d", f.made), own: f.made%5 == 0, objects: map[string]string{}, asked: map[string]map[string]bool{}}
	if f.made%4 == 0 && len(f.stacks) > 0 {
		if below := f.stacks[len(f.stacks)-1]; !below.own {
			s.below = below
		}
	}
	for range 2 + f.rng.IntN(3) {
		f.give(s)
	}
	s.note()
	f.stacks = append(f.stacks, s)
	f.mu.Unlock()
	return insist(ctx, "make stack "+s.name, func(ctx context.Context) error {
		return ignoreExisting(f.client.Create(ctx, f.object(s)))
	})
}

// give adds an object to a stack.
func (f *fleet) give(s *stack) {
	s.changes++
	s.objects[fmt.Sprintf("k%d", s.changes)] = fmt.Sprintf("%d", s.changes)
}

func raw(value any) *apiextensionsv1.JSON {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings always encode
	}
	return &apiextensionsv1.JSON{Raw: text}
}

func (f *fleet) variables(s *stack) []infrav1.Variable {
	return []infrav1.Variable{{Name: "stack", Value: raw(s.name)}, {Name: "objects", Value: raw(s.objects)}}
}

// object is the stack as an API object. Drift checks are hourly, so that only changes start runs.
func (f *fleet) object(s *stack) *infrav1.Terraform {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: f.y.namespace, Name: s.name}}
	obj.Spec.Interval = metav1.Duration{Duration: time.Hour}
	obj.Spec.RetryInterval = &metav1.Duration{Duration: time.Second}
	obj.Spec.Inline = map[string]string{"main.tf": program}
	obj.Spec.ApprovePlan = infrav1.ApprovePlanAuto
	obj.Spec.DestroyResourcesOnDeletion = true
	obj.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "out-" + s.name}
	obj.Spec.Vars = f.variables(s)
	obj.Spec.Env = []corev1.EnvVar{{Name: "YUBATEST_ENDPOINT", Value: f.address}, fromSecret("YUBATEST_TOKEN")}
	if s.below != nil {
		obj.Spec.DependsOn = append(obj.Spec.DependsOn, meta.NamespacedObjectReference{Name: s.below.name})
		obj.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "out-" + s.below.name}}
	}
	if s.own && f.breaksLocks {
		obj.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: infrav1.ForceUnlockAuto}
	}
	if s.own {
		address := f.cloud.StateAddress(s.name)
		obj.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: fmt.Sprintf(
			"backend \"http\" {\n  address        = %q\n  lock_address   = %q\n  unlock_address = %q\n}", address, address, address)}
		obj.Spec.Env = append(obj.Spec.Env, corev1.EnvVar{Name: "TF_HTTP_USERNAME", Value: "yuba"}, fromSecret("TF_HTTP_PASSWORD"))
	}
	return obj
}

func fromSecret(name string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cloud"}, Key: "token"}}}
}

// change changes one stack, or replaces one.
func (f *fleet) change(ctx context.Context) error {
	f.mu.Lock()
	s := f.stacks[f.rng.IntN(len(f.stacks))]
	what := f.rng.IntN(20)
	if what == 0 && !f.hasAbove(s) {
		f.changes["stacks deleted and made"]++
		f.stacks = slices.DeleteFunc(f.stacks, func(other *stack) bool { return other == s })
		f.gone = append(f.gone, s.name)
		f.mu.Unlock()
		return f.replace(ctx, s)
	}
	keys := slices.Sorted(maps.Keys(s.objects))
	if what < 14 || len(keys) < 2 {
		f.changes["values changed"]++
		s.changes++
		s.objects[keys[f.rng.IntN(len(keys))]] = fmt.Sprintf("%d", s.changes)
	}
	if what >= 10 && len(keys) < 8 {
		f.changes["resources added"]++
		f.give(s)
	}
	if what >= 14 && len(keys) >= 2 {
		f.changes["resources removed"]++
		delete(s.objects, keys[f.rng.IntN(len(keys))])
	}
	for _, other := range f.stacks {
		if other == s || other.below == s {
			other.note()
		}
	}
	variables := f.variables(s)
	f.mu.Unlock()
	return insist(ctx, "change stack "+s.name, func(ctx context.Context) error {
		var obj infrav1.Terraform
		if err := f.client.Get(ctx, client.ObjectKey{Namespace: f.y.namespace, Name: s.name}, &obj); err != nil {
			return err
		}
		obj.Spec.Vars = variables
		return f.client.Update(ctx, &obj)
	})
}

func (f *fleet) hasAbove(s *stack) bool {
	return slices.ContainsFunc(f.stacks, func(other *stack) bool { return other.below == s })
}

// replace deletes a stack with its resources, and adds another.
func (f *fleet) replace(ctx context.Context, s *stack) error {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: f.y.namespace, Name: s.name}}
	err := insist(ctx, "delete stack "+s.name, func(ctx context.Context) error {
		return client.IgnoreNotFound(f.client.Delete(ctx, obj))
	})
	if err != nil {
		return err
	}
	return f.add(ctx)
}

// wants are all objects that the cloud should have.
func (f *fleet) wants() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := map[string]string{}
	for _, s := range f.stacks {
		maps.Copy(want, s.wants())
	}
	return want
}

// has are all objects that the cloud has.
func (f *fleet) has() map[string]string {
	have := map[string]string{}
	for _, name := range f.cloud.Names("") {
		if o, ok := f.cloud.Object(name); ok {
			have[name] = o.Content
		}
	}
	return have
}

// behind counts the stacks whose objects are not as desired yet.
func (f *fleet) behind() int {
	want, have := f.wants(), f.has()
	stacks := map[string]bool{}
	for name, content := range want {
		if have[name] != content {
			stacks[stackOf(name)] = true
		}
	}
	for name := range have {
		if _, wanted := want[name]; !wanted {
			stacks[stackOf(name)] = true
		}
	}
	return len(stacks)
}

// stackOf is the stack of an object.
func stackOf(object string) string {
	name, _, _ := strings.Cut(object, ".")
	return name
}

// addressOf is the resource address of an object.
func addressOf(object string) string {
	_, key, _ := strings.Cut(object, ".")
	if key == "copy" {
		return "yubatest_object.copy[0]"
	}
	return fmt.Sprintf("yubatest_object.o[%q]", key)
}
