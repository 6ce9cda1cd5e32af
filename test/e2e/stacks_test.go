// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// inline makes a stack of one file. Drift checks are hourly, so that only the test's actions start
// runs.
func inline(namespace, name, hcl string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	obj.Spec.Interval = metav1.Duration{Duration: time.Hour}
	obj.Spec.RetryInterval = &metav1.Duration{Duration: time.Second}
	obj.Spec.Inline = map[string]string{"main.tf": hcl}
	for _, c := range change {
		c(obj)
	}
	return obj
}

func auto(obj *infrav1.Terraform) { obj.Spec.ApprovePlan = infrav1.ApprovePlanAuto }

func destroying(obj *infrav1.Terraform) { obj.Spec.DestroyResourcesOnDeletion = true }

func variable(name string, value any) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) {
		raw, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		obj.Spec.Vars = append(obj.Spec.Vars, infrav1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: raw}})
	}
}

func varsFrom(kind, name string) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) {
		obj.Spec.VarsFrom = append(obj.Spec.VarsFrom, infrav1.VarsReference{Kind: kind, Name: name})
	}
}

func outputsTo(secret string) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) {
		obj.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: secret}
	}
}

func (y *yuba) create(t *testing.T, objs ...client.Object) {
	t.Helper()
	for _, obj := range objs {
		if err := y.client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}

// change patches the current version of an object.
func change[T client.Object](t *testing.T, y *yuba, obj T, mutate func(T)) {
	t.Helper()
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
	before := obj.DeepCopyObject().(T)
	mutate(obj)
	if err := y.client.Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func approve(t *testing.T, y *yuba, obj *infrav1.Terraform) {
	t.Helper()
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = o.Status.Plan.Pending })
}

// await watches a stack until it is as the sentence says, and returns it.
func (y *yuba) await(t *testing.T, obj *infrav1.Terraform, sentence string, is func(*infrav1.Terraform) bool) *infrav1.Terraform {
	t.Helper()
	return y.awaitFor(t, obj, patience, sentence, is)
}

// awaitFor is await with a timeout of its own.
func (y *yuba) awaitFor(t *testing.T, obj *infrav1.Terraform, timeout time.Duration, sentence string, is func(*infrav1.Terraform) bool) *infrav1.Terraform {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	last := &infrav1.Terraform{}
	for ctx.Err() == nil {
		if y.watch(ctx, obj, last, is) {
			return last
		}
	}
	status, _ := json.MarshalIndent(last.Status, "", "  ") //nolint:errcheck // it is one
	t.Fatalf("%s/%s: %s, and that did not come about. Status:\n%s\nServer:\n%s", obj.Namespace, obj.Name, sentence, status, y.logTail())
	return nil
}

// watch follows the stack in one watch; the caller restarts one that ends early.
func (y *yuba) watch(ctx context.Context, obj, last *infrav1.Terraform, is func(*infrav1.Terraform) bool) bool {
	w, err := y.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(obj.Namespace), client.MatchingFields{"metadata.name": obj.Name})
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		return false
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		seen, ok := event.Object.(*infrav1.Terraform)
		if !ok || event.Type == watch.Deleted {
			continue
		}
		seen.DeepCopyInto(last)
		if is(last) {
			return true
		}
	}
	return false
}

func (y *yuba) awaitGone(t *testing.T, obj *infrav1.Terraform) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		w, err := y.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(obj.Namespace), client.MatchingFields{"metadata.name": obj.Name})
		if err != nil {
			continue
		}
		var now infrav1.Terraform
		if err := y.client.Get(ctx, client.ObjectKeyFromObject(obj), &now); client.IgnoreNotFound(err) == nil && err != nil {
			w.Stop()
			return
		}
		for event := range w.ResultChan() {
			if event.Type == watch.Deleted {
				w.Stop()
				return
			}
		}
	}
	t.Fatalf("%s/%s is still there.\nServer:\n%s", obj.Namespace, obj.Name, y.logTail())
}

func (y *yuba) delete(t *testing.T, obj client.Object) {
	t.Helper()
	if err := y.client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func condition(obj *infrav1.Terraform, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(obj.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// settled means that the status is current and no run is active.
func settled(obj *infrav1.Terraform) bool {
	return obj.Status.ObservedGeneration == obj.Generation && obj.Status.CurrentRun == nil
}

func ready(obj *infrav1.Terraform) bool {
	return settled(obj) && condition(obj, infrav1.ConditionReady).Status == metav1.ConditionTrue
}

func waiting(obj *infrav1.Terraform) bool { return settled(obj) && obj.Status.Plan.Pending != "" }

func failedWith(reason string) func(*infrav1.Terraform) bool {
	return func(obj *infrav1.Terraform) bool {
		c := condition(obj, infrav1.ConditionReady)
		return settled(obj) && c.Status == metav1.ConditionFalse && c.Reason == reason
	}
}

func (y *yuba) secret(t *testing.T, namespace, name string) map[string][]byte {
	t.Helper()
	var s corev1.Secret
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &s); err != nil {
		t.Fatal(err)
	}
	return s.Data
}

func configMap(namespace, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

func secretOf(namespace, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: data}
}

// gated is a program whose apply stops in the middle: it creates first, waits at the gate, and then
// creates last.
const gated = `
resource "terraform_data" "first" { input = "first" }
resource "terraform_data" "gate" {
  depends_on = [terraform_data.first]
  input      = "gate"
  provisioner "local-exec" {
    command = "touch $HOME/reached; until [ -e $HOME/open ]; do sleep 0.05; done"
  }
}
resource "terraform_data" "last" {
  depends_on = [terraform_data.gate]
  input      = "last"
}
output "last" { value = terraform_data.last.output }
`

// gate returns the path that a gated program's apply creates, and the one that it waits for.
func (y *yuba) gate(obj *infrav1.Terraform) (reached, open string) {
	home := filepath.Join(y.dir, "work", obj.Namespace, obj.Name, "home")
	return filepath.Join(home, "reached"), filepath.Join(home, "open")
}

func awaitFile(t *testing.T, name string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not appear", name)
}

func touch(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func stateSecret(obj *infrav1.Terraform) string {
	return fmt.Sprintf("tfstate-%s-%s", obj.WorkspaceName(), obj.StateSuffix())
}

func (y *yuba) awaitSecret(t *testing.T, namespace, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := y.client.Watch(ctx, &corev1.SecretList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Added || event.Type == watch.Modified {
			return
		}
	}
	t.Fatalf("Secret %s/%s did not come back", namespace, name)
}

func namespaceObject(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// state reads a stack's state from its Secret, like the kubernetes backend.
func (y *yuba) state(t *testing.T, obj *infrav1.Terraform) []byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(y.secret(t, obj.Namespace, stateSecret(obj))["tfstate"]))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// push uploads a directory as `yuba push` does.
func (y *yuba) push(t *testing.T, namespace, name string, files map[string]string) *sourcev1.ExternalArtifact {
	t.Helper()
	dir := t.TempDir()
	for file, content := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	if _, _, err := archive.Pack(t.Context(), dir, &packed, archive.PackOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := y.content(t).Push(t.Context(), namespace, name, bytes.NewReader(packed.Bytes())); err != nil {
		t.Fatal(err)
	}
	return &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// pushed makes a stack with an ExternalArtifact as its source.
func pushed(namespace, name, artifact string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	obj := inline(namespace, name, "")
	obj.Spec.Inline = nil
	obj.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: infrav1.SourceKindExternalArtifact, Name: artifact}
	for _, c := range change {
		c(obj)
	}
	return obj
}

func awaitExit(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d is still there", pid)
}

func (y *yuba) content(t *testing.T) *content.Client {
	t.Helper()
	config, err := kubetest.Config(y.kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	c, err := content.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// firstID is the id of the first resource of a state.
func firstID(t *testing.T, state []byte) string {
	t.Helper()
	var s struct {
		Resources []struct {
			Instances []struct{ Attributes struct{ ID string } }
		}
	}
	if err := json.Unmarshal(state, &s); err != nil {
		t.Fatal(err)
	}
	return s.Resources[0].Instances[0].Attributes.ID
}

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// lastState reads the newest version of a state from the blob store, without the server.
func (y *yuba) lastState(t *testing.T, namespace, secret string) *statefile.File {
	t.Helper()
	key, err := blob.LoadOrCreateKey(filepath.Join(y.dir, "keys", "blob.agekey"))
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+filepath.Join(y.dir, "blobs"), key)
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close() //nolint:errcheck // read only
	suffix := strings.TrimPrefix(secret, "tfstate-default-")
	for version, err := range state.New(y.client, blobs).Versions(t.Context(), state.Key{Namespace: namespace, Suffix: suffix}) {
		if err != nil {
			t.Fatal(err)
		}
		_, data, err := state.New(y.client, blobs).ReadVersion(t.Context(), state.Key{Namespace: namespace, Suffix: suffix}, version.ID)
		if err != nil {
			t.Fatal(err)
		}
		file, err := statefile.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Fatalf("no version of %s/%s is stored", namespace, secret)
	return nil
}
