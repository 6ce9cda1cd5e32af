// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// Sources here look as if source-controller had fetched them: an object whose status names an
// archive. Nothing fetches them, so their URLs do not matter.

// git publishes a program as a revision of the GitRepository "program".
func (w *world) git(revision string, files program) {
	w.Helper()
	w.publish(infrav1.SourceKindGitRepository, "program", revision, files)
}

// publish creates a source, or a new revision of it.
func (w *world) publish(kind, name, revision string, files program) {
	w.Helper()
	url, digest := w.outside.archive(files.pack(w.T))
	w.publishArtifact(kind, name, &meta.Artifact{URL: url, Digest: digest, Revision: revision})
}

// publishArtifact makes a source point to an archive.
func (w *world) publishArtifact(kind, name string, artifact *meta.Artifact) {
	w.Helper()
	obj := w.source(kind, name)
	artifact.Path, artifact.LastUpdateTime = name+".tar.gz", metav1.Now()
	conditions := []metav1.Condition{{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: meta.SucceededReason,
		Message: "stored artifact for revision '" + artifact.Revision + "'", LastTransitionTime: metav1.Now(), ObservedGeneration: obj.GetGeneration()}}
	switch o := obj.(type) {
	case *sourcev1.GitRepository:
		o.Status = sourcev1.GitRepositoryStatus{ObservedGeneration: o.Generation, Conditions: conditions, Artifact: artifact}
	case *sourcev1.OCIRepository:
		o.Status = sourcev1.OCIRepositoryStatus{ObservedGeneration: o.Generation, Conditions: conditions, Artifact: artifact}
	case *sourcev1.Bucket:
		o.Status = sourcev1.BucketStatus{ObservedGeneration: o.Generation, Conditions: conditions, Artifact: artifact}
	case *sourcev1.ExternalArtifact:
		o.Status = sourcev1.ExternalArtifactStatus{Conditions: conditions, Artifact: artifact}
	}
	if err := w.client.Status().Update(w.Context(), obj); err != nil {
		w.Fatalf("publish %s %s: %v", kind, name, err)
	}
}

// source returns the current source. It creates a missing one, without an artifact.
func (w *world) source(kind, name string) client.Object {
	w.Helper()
	obj := newSource(kind, name)
	if w.exists(obj, name) {
		return obj
	}
	obj = newSource(kind, name)
	w.create(obj)
	return obj
}

// newSource is a suspended source: the suite writes its status, and no controller fetches it.
func newSource(kind, name string) client.Object {
	at := metav1.ObjectMeta{Name: name}
	interval := metav1.Duration{Duration: time.Hour}
	switch kind {
	case infrav1.SourceKindGitRepository:
		return &sourcev1.GitRepository{ObjectMeta: at, Spec: sourcev1.GitRepositorySpec{URL: "https://git.invalid/program", Interval: interval, Suspend: true}}
	case infrav1.SourceKindOCIRepository:
		return &sourcev1.OCIRepository{ObjectMeta: at, Spec: sourcev1.OCIRepositorySpec{URL: "oci://registry.invalid/program", Interval: interval, Suspend: true}}
	case infrav1.SourceKindBucket:
		return &sourcev1.Bucket{ObjectMeta: at, Spec: sourcev1.BucketSpec{BucketName: "programs", Endpoint: "bucket.invalid", Interval: interval, Suspend: true}}
	}
	return &sourcev1.ExternalArtifact{ObjectMeta: at, Spec: sourcev1.ExternalArtifactSpec{}}
}
