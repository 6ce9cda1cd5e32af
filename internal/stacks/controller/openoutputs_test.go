// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// oneStack answers for a namespace with one stack in it.
type oneStack struct{ stack *infrav1.Terraform }

func (o oneStack) Get(_ context.Context, key types.NamespacedName, obj client.Object) error {
	if key != client.ObjectKeyFromObject(o.stack) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "terraforms"}, key.Name)
	}
	o.stack.DeepCopyInto(obj.(*infrav1.Terraform))
	return nil
}

// Writers of Secrets must not decide which values are shown.
func TestOpenOutputsAreTrustedOnlyInAStacksSecret(t *testing.T) {
	data := map[string][]byte{"id": []byte("vpc-1"), "token": []byte("t0ken")}
	for sentence, test := range map[string]struct {
		change  func(*infrav1.Terraform, *corev1.Secret)
		trusted bool
	}{
		"as it was written":                      {func(*infrav1.Terraform, *corev1.Secret) {}, true},
		"without a note":                         {func(_ *infrav1.Terraform, s *corev1.Secret) { s.Annotations = nil }, false},
		"another note":                           {func(_ *infrav1.Terraform, s *corev1.Secret) { noteOn(s, "id", "token") }, false},
		"other values, and a note about them":    {func(_ *infrav1.Terraform, s *corev1.Secret) { s.Data["id"] = []byte("vpc-2"); noteOn(s, "id") }, false},
		"without an owner":                       {func(_ *infrav1.Terraform, s *corev1.Secret) { s.OwnerReferences = nil }, false},
		"of a stack that was deleted":            {func(_ *infrav1.Terraform, s *corev1.Secret) { s.OwnerReferences[0].UID = "before" }, false},
		"of another stack":                       {func(_ *infrav1.Terraform, s *corev1.Secret) { s.OwnerReferences[0].Name = "other" }, false},
		"of another kind with that name":         {func(_ *infrav1.Terraform, s *corev1.Secret) { s.OwnerReferences[0].APIVersion = "example.com/v1" }, false},
		"owned, but not controlled":              {func(_ *infrav1.Terraform, s *corev1.Secret) { s.OwnerReferences[0].Controller = nil }, false},
		"another Secret of the stack":            {func(_ *infrav1.Terraform, s *corev1.Secret) { s.Name = "copy" }, false},
		"in another namespace":                   {func(_ *infrav1.Terraform, s *corev1.Secret) { s.Namespace = "other" }, false},
		"the stack writes its outputs elsewhere": {func(t *infrav1.Terraform, _ *corev1.Secret) { t.Spec.WriteOutputsToSecret.Name = "new" }, false},
		"the stack writes no outputs":            {func(t *infrav1.Terraform, _ *corev1.Secret) { t.Spec.WriteOutputsToSecret = nil }, false},
		"the status has no digest":               {func(t *infrav1.Terraform, _ *corev1.Secret) { t.Status.OpenOutputsDigest = "" }, false},
		"the note of another stack":              {func(t *infrav1.Terraform, _ *corev1.Secret) { t.UID = "uid-2" }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			stack := stackObject(func(t *infrav1.Terraform) {
				t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "out"}
			})
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: "out", OwnerReferences: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind, Name: stack.Name, UID: stack.UID, Controller: ptr.To(true)}}}, Data: map[string][]byte{}}
			for key, value := range data {
				secret.Data[key] = value
			}
			noteOn(secret, "id")
			stack.Status.OpenOutputsDigest = stack.SealOfOpenOutputs(secret.Annotations[infrav1.OpenOutputsAnnotation])
			test.change(stack, secret)
			if err := (getter{stacks: oneStack{stack}}).distrust(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			if _, trusted := inputs.OpenOutputsOf(secret); trusted != test.trusted {
				t.Errorf("trusted: %v", trusted)
			}
		})
	}
}

func noteOn(s *corev1.Secret, open ...string) {
	s.Annotations = map[string]string{infrav1.OpenOutputsAnnotation: inputs.OpenOutputs{Open: open}.Annotation(s.Data)}
}

func TestKeysOfSeveralOutputsAreNotOpen(t *testing.T) {
	outputs := map[string]statefile.PrintedOutput{"host": {}, "port": {}, "password": {Sensitive: true}}
	for sentence, test := range map[string]struct{ wanted, want []string }{
		"all":                                   {nil, []string{"host", "port"}},
		"some, renamed":                         {[]string{"port:db_port", "password"}, []string{"db_port"}},
		"a sensitive output overwrites the key": {[]string{"host:db", "password:db", "port"}, []string{"port"}},
		"a sensitive output is overwritten":     {[]string{"password:db", "host:db", "port"}, []string{"port"}},
		"three outputs of one key":              {[]string{"password:db", "host:db", "port:db"}, nil},
		"a missing output":                      {[]string{"nothing", "host"}, []string{"host"}},
		"only a sensitive output":               {[]string{"password"}, nil},
	} {
		if diff := cmp.Diff(test.want, openCandidates(test.wanted, outputs)); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}

// Outputs that are open are shown in the status of applications: nothing of a secret may be in them.
func TestOutputsWithAnythingOfASecretAreClosed(t *testing.T) {
	spec := &run.Spec{Stack: run.Stack{Namespace: "shop", Name: "site"}, Variables: map[string]run.Variable{
		"pin": {Value: []byte(`"1234"`), Secret: true}, "word": {Value: []byte(`"postgres"`), Secret: true}, "tenant": {Value: []byte(`"tenant-root"`), Secret: true},
		"digit": {Value: []byte(`7`), Secret: true}, "flag": {Value: []byte(`true`), Secret: true}, "name": {Value: []byte(`"site"`), Secret: true},
		"size": {Value: []byte(`"small"`)}}}
	for sentence, test := range map[string]struct {
		value string
		open  bool
	}{
		"nothing of a secret":          {"db-1.example.com", true},
		"a variable that is open":      {"small", true},
		"a short number":               {"pin-1234", false},
		"a common word":                {"mypostgres", false},
		"common words in a name":       {"https://tenant-root.example.com", false},
		"a digit":                      {"7", false},
		"a digit in a longer value":    {"17", true},
		"a boolean":                    {"true", false},
		"equal to the stack's name":    {"www.site.example.com", false},
		"base64 of a short number":     {"MTIzNA==", false},
		"a short number in a document": {`{"a":["x1234"]}`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := divide(spec, map[string][]byte{"out": []byte(test.value)}, []string{"out"}, nil)
			if open := len(got.Open) == 1 && len(got.Closed) == 0; open != test.open {
				t.Errorf("%+v", got)
			}
		})
	}
}

// After a secret has changed, an output may still contain the one before.
func TestClosedOutputsStayClosedWhileTheyAreTheSame(t *testing.T) {
	data := map[string][]byte{"old": []byte("s3cret-before"), "new": []byte("db-2"), "open": []byte("vpc-1")}
	secret := &corev1.Secret{Data: map[string][]byte{"old": []byte("s3cret-before"), "new": []byte("s3cret-before"), "open": []byte("vpc-1")}}
	spec := &run.Spec{Variables: map[string]run.Variable{"password": {Value: []byte(`"s3cret-after"`), Secret: true}}}
	for sentence, test := range map[string]struct {
		note string
		want inputs.OpenOutputs
	}{
		"as it was noted":            {inputs.OpenOutputs{Open: []string{"open"}, Closed: []string{"old", "new"}}.Annotation(secret.Data), inputs.OpenOutputs{Open: []string{"new", "open"}, Closed: []string{"old"}}},
		"with a note about others":   {inputs.OpenOutputs{Open: []string{}, Closed: []string{"gone", "old"}}.Annotation(nil), inputs.OpenOutputs{Open: []string{"new", "open"}, Closed: []string{"old"}}},
		"nothing was noted":          {"", inputs.OpenOutputs{Open: []string{"new", "old", "open"}}},
		"the note is not a note":     {"[]", inputs.OpenOutputs{Open: []string{"new", "old", "open"}}},
		"everything was open so far": {inputs.OpenOutputs{Open: []string{"new", "old", "open"}}.Annotation(secret.Data), inputs.OpenOutputs{Open: []string{"new", "old", "open"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			secret.Annotations = map[string]string{infrav1.OpenOutputsAnnotation: test.note}
			got := divide(spec, data, []string{"new", "old", "open"}, stayClosed(secret, data))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
