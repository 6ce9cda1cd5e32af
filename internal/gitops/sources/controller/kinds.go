// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
)

// Object is the common interface of all kinds of sources.
type Object interface {
	client.Object
	GetArtifact() *meta.Artifact
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
	GetRequeueAfter() time.Duration
}

// kind contains the differences of one kind of source.
type kind struct {
	name, plural string
	new          func() Object
	list         func() client.ObjectList
	look         func(ctx context.Context, o Object, fresh bool) (*Found, error)
	// view returns the parts that the kinds have in different fields.
	view func(o Object) view
	// observed reports whether the artifact matches the object's spec; observe records that.
	observed func(o Object) bool
	observe  func(o Object)
	// stored is Flux's message about an artifact.
	stored string
	// sourceIgnore applies Flux's ignore rules to the tree; for a bucket they have been applied
	// already.
	sourceIgnore bool
	// failed is the default reason of failures.
	failed string
	// spreads is true if this package informs other sources of the upstream about news; git mirrors
	// do that themselves.
	spreads bool
	// fixed reports whether the object names versions that are expected not to move.
	fixed func(o Object) bool
	// references lists the Secrets that the object names.
	references func(o Object) []string
	// extension is that of artifacts' paths; the default is tar.gz.
	extension string
	// idle, if set, reports whether the object has no artifact and needs no look.
	idle func(o Object) bool
	// found, if set, records what else a look found.
	found func(o Object, found *Found)
}

// view contains the common part of an object's spec, and where its status is.
type view struct {
	url       string
	suspended bool
	timeout   time.Duration
	ignore    *string
	include   []sourcev1.GitRepositoryInclude
	// proxy names the Secret with the proxy's address; nil for none.
	proxy *meta.LocalObjectReference

	artifact   **meta.Artifact
	includes   *[]*meta.Artifact
	generation *int64
	handled    *string
	// archive is the URL in the status, for kinds that have it.
	archive *string
}

// place identifies the bottleneck of an upstream: its host, or the namespace's proxy for it. A slow
// proxy must not block others.
func (v view) place(namespace string) string {
	u, err := url.Parse(v.url)
	if err != nil {
		return ""
	}
	host := cmp.Or(u.Host, u.Path)
	if v.proxy == nil {
		return host
	}
	return host + " by " + namespace + "/" + v.proxy.Name
}

// defaultTimeout is the default of the kinds.
const defaultTimeout = time.Minute

func timeoutOf(d *metav1.Duration) time.Duration {
	if d == nil || d.Duration <= 0 {
		return defaultTimeout
	}
	return d.Duration
}

func secretNames(refs ...*meta.LocalObjectReference) []string {
	var names []string
	for _, ref := range refs {
		if ref != nil && ref.Name != "" {
			names = append(names, ref.Name)
		}
	}
	return names
}

func lookOf[O Object](up Upstream[O]) func(ctx context.Context, o Object, fresh bool) (*Found, error) {
	return func(ctx context.Context, o Object, fresh bool) (*Found, error) { return up.Look(ctx, o.(O), fresh) }
}

// gitRepositories is the kind GitRepository.
func gitRepositories(up Upstream[*sourcev1.GitRepository]) *kind {
	return &kind{
		name: sourcev1.GitRepositoryKind, plural: "gitrepositories", new: func() Object { return &sourcev1.GitRepository{} },
		list:   func() client.ObjectList { return &sourcev1.GitRepositoryList{} },
		stored: "stored artifact for revision '%s'", failed: sourcev1.GitOperationFailedReason, sourceIgnore: true,
		look: lookOf(up),
		view: func(o Object) view {
			g := o.(*sourcev1.GitRepository)
			return view{url: g.Spec.URL, suspended: g.Spec.Suspend, timeout: timeoutOf(g.Spec.Timeout), ignore: g.Spec.Ignore, proxy: g.Spec.ProxySecretRef, include: g.Spec.Include,
				artifact: &g.Status.Artifact, includes: &g.Status.IncludedArtifacts, generation: &g.Status.ObservedGeneration, handled: &g.Status.LastHandledReconcileAt}
		},
		fixed: func(o Object) bool {
			ref := o.(*sourcev1.GitRepository).Spec.Reference
			return ref != nil && ref.Commit == "" && ref.Name == "" && (ref.Tag != "" || ref.SemVer != "")
		},
		observed: func(o Object) bool {
			g := o.(*sourcev1.GitRepository)
			return ptr.Equal(g.Spec.Ignore, g.Status.ObservedIgnore) && g.Spec.RecurseSubmodules == g.Status.ObservedRecurseSubmodules &&
				slices.Equal(g.Spec.Include, g.Status.ObservedInclude) && slices.Equal(g.Spec.SparseCheckout, g.Status.ObservedSparseCheckout)
		},
		observe: func(o Object) {
			g := o.(*sourcev1.GitRepository)
			g.Status.ObservedIgnore, g.Status.ObservedRecurseSubmodules = g.Spec.Ignore, g.Spec.RecurseSubmodules
			g.Status.ObservedInclude, g.Status.ObservedSparseCheckout = g.Spec.Include, g.Spec.SparseCheckout
			g.Status.SourceVerificationMode = nil
			if v := g.Spec.Verification; v != nil {
				g.Status.SourceVerificationMode = ptr.To(v.GetMode())
			}
		},
		references: func(o Object) []string {
			g := o.(*sourcev1.GitRepository)
			refs := []*meta.LocalObjectReference{g.Spec.SecretRef, g.Spec.ProxySecretRef}
			if g.Spec.Verification != nil {
				refs = append(refs, &g.Spec.Verification.SecretRef)
			}
			return secretNames(refs...)
		},
	}
}

// ociRepositories is the kind OCIRepository.
func ociRepositories(up Upstream[*sourcev1.OCIRepository]) *kind {
	return &kind{
		name: sourcev1.OCIRepositoryKind, plural: "ocirepositories", new: func() Object { return &sourcev1.OCIRepository{} },
		list:   func() client.ObjectList { return &sourcev1.OCIRepositoryList{} },
		stored: "stored artifact for digest '%s'", failed: sourcev1.OCIPullFailedReason, sourceIgnore: true, spreads: true,
		look: lookOf(up),
		view: func(o Object) view {
			r := o.(*sourcev1.OCIRepository)
			return view{url: r.Spec.URL, suspended: r.Spec.Suspend, timeout: timeoutOf(r.Spec.Timeout), ignore: r.Spec.Ignore, proxy: r.Spec.ProxySecretRef,
				artifact: &r.Status.Artifact, generation: &r.Status.ObservedGeneration, handled: &r.Status.LastHandledReconcileAt, archive: &r.Status.URL}
		},
		fixed: func(o Object) bool {
			ref := o.(*sourcev1.OCIRepository).Spec.Reference
			return ref != nil && ref.SemVer != ""
		},
		observed: func(o Object) bool {
			r := o.(*sourcev1.OCIRepository)
			return ptr.Equal(r.Spec.Ignore, r.Status.ObservedIgnore) && ptr.Equal(r.Spec.LayerSelector, r.Status.ObservedLayerSelector)
		},
		observe: func(o Object) {
			r := o.(*sourcev1.OCIRepository)
			r.Status.ObservedIgnore, r.Status.ObservedLayerSelector = r.Spec.Ignore, r.Spec.LayerSelector
		},
		references: func(o Object) []string {
			r := o.(*sourcev1.OCIRepository)
			refs := []*meta.LocalObjectReference{r.Spec.SecretRef, r.Spec.CertSecretRef, r.Spec.ProxySecretRef}
			if r.Spec.Verify != nil {
				refs = append(refs, r.Spec.Verify.SecretRef, r.Spec.Verify.TrustedRootSecretRef)
			}
			return secretNames(refs...)
		},
	}
}

// buckets is the kind Bucket.
func buckets(up Upstream[*sourcev1.Bucket]) *kind {
	return &kind{
		name: sourcev1.BucketKind, plural: "buckets", new: func() Object { return &sourcev1.Bucket{} },
		list:   func() client.ObjectList { return &sourcev1.BucketList{} },
		stored: "stored artifact: revision '%s'", failed: sourcev1.BucketOperationFailedReason, spreads: true,
		look: lookOf(up),
		view: func(o Object) view {
			b := o.(*sourcev1.Bucket)
			u := url.URL{Scheme: cmp.Or(b.Spec.Provider, sourcev1.BucketProviderGeneric), Host: b.Spec.Endpoint, Path: "/" + b.Spec.BucketName}
			return view{url: u.String(), suspended: b.Spec.Suspend, timeout: timeoutOf(b.Spec.Timeout), ignore: b.Spec.Ignore, proxy: b.Spec.ProxySecretRef,
				artifact: &b.Status.Artifact, generation: &b.Status.ObservedGeneration, handled: &b.Status.LastHandledReconcileAt, archive: &b.Status.URL}
		},
		observed: func(o Object) bool {
			b := o.(*sourcev1.Bucket)
			return ptr.Equal(b.Spec.Ignore, b.Status.ObservedIgnore)
		},
		observe: func(o Object) {
			b := o.(*sourcev1.Bucket)
			b.Status.ObservedIgnore = b.Spec.Ignore
		},
		references: func(o Object) []string {
			b := o.(*sourcev1.Bucket)
			return secretNames(b.Spec.SecretRef, b.Spec.CertSecretRef, b.Spec.ProxySecretRef)
		},
	}
}

// rules returns how to pack the object's tree.
func (k *kind) rules(v view) *archive.UpstreamRules {
	if !k.sourceIgnore {
		return &archive.UpstreamRules{}
	}
	return &archive.UpstreamRules{SourceIgnore: true, Ignore: ptr.Deref(v.ignore, "")}
}

func (k *kind) storedMessage(revision string) string { return fmt.Sprintf(k.stored, revision) }
