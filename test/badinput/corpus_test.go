// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package badinput

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// The ways in which a stack may end.
const (
	// endsFailed: rejected by the API, or Ready is False.
	endsFailed = "fails"
	// endsApplied: only looks incorrect, and Ready is True.
	endsApplied = "applied"
	// endsWaiting: Ready says what it waits for.
	endsWaiting = "waits"
	// endsSettled: any of these.
	endsSettled = "settles"
)

// badInput is one case.
type badInput struct {
	// Name is the stack's name, unless As is set.
	Name string `json:"name"`
	As   string `json:"as,omitempty"`
	// Says are words that the rejection or Ready's message must contain, unless the stack is applied.
	Says []string `json:"says,omitempty"`
	// Ends is how it must end; endsFailed by default.
	Ends string `json:"ends,omitempty"`
	// HCL is main.tf, Files are other files; Generate names a function that returns them.
	HCL      string            `json:"hcl,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Generate string            `json:"generate,omitempty"`
	// Spec contains fields of the object's spec; null removes a default.
	Spec map[string]any `json:"spec,omitempty"`
	// Objects are created before the stack. State is the content of its state's Secret.
	Objects []map[string]any `json:"objects,omitempty"`
	State   *string          `json:"state,omitempty"`
	// Locked: another holder has the lock all the time.
	Locked bool `json:"locked,omitempty"`
	// Slow: it takes as long as a run may take.
	Slow bool `json:"slow,omitempty"`

	// archive is what its source serves, if it has one.
	archive *archive
}

func (b *badInput) ends() string {
	if b.Ends == "" {
		return endsFailed
	}
	return b.Ends
}

// corpus reads all cases of corpus/.
func corpus(t *testing.T) []*badInput {
	t.Helper()
	files, err := filepath.Glob("corpus/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []*badInput
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var some []*badInput
		if err := yaml.UnmarshalStrict(text, &some); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, some...)
	}
	return all
}

// program contains the files of the root module.
func (b *badInput) program(t *testing.T) map[string]any {
	t.Helper()
	files := map[string]string{"main.tf": b.HCL}
	if b.Generate != "" {
		generate, ok := generators[b.Generate]
		if !ok {
			t.Fatalf("%s: there is no generator %q", b.Name, b.Generate)
		}
		files = generate()
	} else if b.HCL == "" && b.Files == nil {
		files["main.tf"] = "output \"a\" { value = 1 }\n"
	}
	if _, template := b.Files["main.tf.tpl"]; template {
		delete(files, "main.tf")
	}
	maps.Copy(files, b.Files)
	out := map[string]any{}
	for name, content := range files {
		out[name] = content
	}
	return out
}

// stack is the case as an object.
func (b *badInput) stack(t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	spec := map[string]any{"interval": "1h", "retryInterval": "1h", "approvePlan": "auto", "runnerTerminationGracePeriodSeconds": int64(1)}
	if b.archive == nil {
		spec["inline"] = b.program(t)
	} else {
		spec["sourceRef"] = map[string]any{"kind": infrav1.SourceKindExternalArtifact, "name": b.Name}
	}
	for key, value := range b.Spec {
		if value == nil {
			delete(spec, key)
			continue
		}
		spec[key] = value
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(infrav1.GroupVersion.WithKind("Terraform"))
	obj.SetNamespace(namespace)
	obj.SetName(b.name())
	return obj
}

func (b *badInput) name() string {
	if b.As != "" {
		return b.As
	}
	return b.Name
}

// before are the objects that must exist first.
func (b *badInput) before(t *testing.T, namespace string) []client.Object {
	t.Helper()
	var objs []client.Object
	for _, o := range b.Objects {
		obj := &unstructured.Unstructured{Object: o}
		obj.SetNamespace(namespace)
		objs = append(objs, obj)
	}
	if b.State != nil {
		objs = append(objs, stateSecret(t, namespace, b.name(), *b.State))
	}
	return objs
}

// stateSecret is a state in the format of the kubernetes backend.
func stateSecret(t *testing.T, namespace, stack, content string) *corev1.Secret {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tfstate-default-" + stack,
		Labels:      map[string]string{"tfstate": "true", "tfstateSecretSuffix": stack, "tfstateWorkspace": "default"},
		Annotations: map[string]string{"encoding": "gzip"}}, Data: map[string][]byte{"tfstate": zipped.Bytes()}}
}

// TestTheCorpusIsWellFormed: each case has a unique name, and each that may fail has words that
// name the cause.
func TestTheCorpusIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	cases := slices.Concat(corpus(t), badArchives())
	for _, b := range cases {
		if names[b.Name] {
			t.Errorf("%s is there twice", b.Name)
		}
		names[b.Name] = true
		if !slices.Contains([]string{endsFailed, endsApplied, endsWaiting, endsSettled}, b.ends()) {
			t.Errorf("%s ends with %q", b.Name, b.Ends)
		}
		if (b.ends() == endsFailed || b.ends() == endsWaiting) && len(b.Says) == 0 {
			t.Errorf("%s does not say which words name the cause", b.Name)
		}
	}
	if len(cases) < 258 {
		t.Errorf("there are %d cases, want 258", len(cases))
	}
}
