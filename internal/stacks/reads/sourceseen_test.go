// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// metadataOf is a cache with one object's metadata.
type metadataOf struct {
	client.Reader
	is metav1.ObjectMeta
}

// Get returns the metadata.
func (m metadataOf) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetUID(m.is.UID)
	obj.SetResourceVersion(m.is.ResourceVersion)
	return nil
}

func TestASourceThatIsAsItWasIsNotReadAgain(t *testing.T) {
	name := types.NamespacedName{Namespace: "team", Name: "live"}
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}}
	for sentence, test := range map[string]struct {
		is   metav1.ObjectMeta
		kind string
		want bool
	}{
		"as it was":             {metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}, "GitRepository", true},
		"changed":               {metav1.ObjectMeta{UID: "u", ResourceVersion: "8"}, "GitRepository", false},
		"another of its name":   {metav1.ObjectMeta{UID: "v", ResourceVersion: "7"}, "GitRepository", false},
		"of another kind":       {metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}, "Bucket", false},
		"of a kind not watched": {metav1.ObjectMeta{UID: "u", ResourceVersion: "7"}, "OCIRepository", false},
	} {
		s := &Sources{Seen: metadataOf{is: test.is}, Watched: []string{"GitRepository", "Bucket"}}
		s.seen.note("GitRepository", name, source, &meta.Artifact{Digest: "sha256:a", Revision: "main@sha1:a"})
		s.seen.note("OCIRepository", name, source, &meta.Artifact{Digest: "sha256:a", Revision: "main@sha1:a"})
		if a, ok := s.unchanged(t.Context(), test.kind, name); ok != test.want || ok && a.Revision != "main@sha1:a" {
			t.Errorf("%s: %v, %v", sentence, a, ok)
		}
	}
	s := &Sources{Seen: metadataOf{is: source.ObjectMeta}, Watched: []string{"GitRepository"}}
	s.seen.note("GitRepository", name, source, &meta.Artifact{Digest: "sha256:a"})
	s.seen.note("GitRepository", name, source, nil)
	if _, ok := s.unchanged(t.Context(), "GitRepository", name); ok {
		t.Error("an artifact that is gone is remembered")
	}
}

func TestWhoChangedAStackOrAsksMeansTheSourceAsItIsNow(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"nobody":         {func(*infrav1.Terraform) {}, true},
		"who changed it": {func(o *infrav1.Terraform) { o.Generation++ }, false},
		"who asks":       {func(o *infrav1.Terraform) { o.Annotations = map[string]string{infrav1.AnnotationReconcile: "now"} }, false},
	} {
		obj := stackObject(func(o *infrav1.Terraform) { o.Status.ObservedGeneration = o.Generation }, test.change)
		if got := atRest(obj); got != test.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
