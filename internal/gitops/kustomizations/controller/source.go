// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
)

// originRevision is the annotation of OCI artifacts with the revision of their repository.
const originRevision = "org.opencontainers.image.revision"

// artifact is the artifact of a source.
type artifact struct {
	digest, revision, origin string
}

// sourceObject is the common interface of Flux's sources.
type sourceObject interface {
	client.Object
	GetArtifact() *meta.Artifact
}

func newSource(kind string) sourceObject {
	switch kind {
	case sourcev1.GitRepositoryKind:
		return &sourcev1.GitRepository{}
	case sourcev1.OCIRepositoryKind:
		return &sourcev1.OCIRepository{}
	case sourcev1.BucketKind:
		return &sourcev1.Bucket{}
	case sourcev1.ExternalArtifactKind:
		return &sourcev1.ExternalArtifact{}
	}
	return nil
}

func sourceName(obj *kustomizev1.Kustomization) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(obj.Spec.SourceRef.Namespace, obj.Namespace), Name: obj.Spec.SourceRef.Name}
}

// gatherSource reads the source and its artifact.
func (r *Reconciler) gatherSource(ctx context.Context, p *pass) error {
	ref, name := &p.obj.Spec.SourceRef, sourceName(p.obj)
	f := &p.facts.Source
	*f = decide.Source{Name: ref.Kind + " " + name.String()}
	if name.Namespace != p.obj.Namespace && !r.AllowCrossNamespace {
		f.Denied = true
		f.Reason = fmt.Sprintf("can't access '%s/%s', cross-namespace references have been blocked; --allow-cross-namespace of the server allows them", ref.Kind, name)
		return nil
	}
	src := newSource(ref.Kind)
	if src == nil {
		f.Missing, f.Reason = true, fmt.Sprintf("source `%s` kind '%s' not supported", ref.Name, ref.Kind)
		return nil
	}
	err := r.cached.Get(ctx, name, src)
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		f.Missing, f.Reason = true, fmt.Sprintf("Source '%s' not found", ref.String())
		return nil
	case err != nil:
		return fmt.Errorf("unable to get source '%s': %w", name, err)
	}
	if a := src.GetArtifact(); a != nil && a.Digest != "" {
		f.Revision = a.Revision
		p.artifact = artifact{digest: a.Digest, revision: a.Revision, origin: a.Metadata[originRevision]}
	}
	return nil
}

// unpack returns the artifact's tree, which others may share; done ends its use.
func (r *Reconciler) unpack(ctx context.Context, p *pass) (tree string, done func(), err error) {
	tree, done, err = r.trees.take(ctx, p.artifact.digest, func(ctx context.Context) (string, func(), error) {
		return r.extract(ctx, p.artifact.digest)
	})
	if err != nil {
		return "", nil, fmt.Errorf("unpack the artifact of %s: %w", p.facts.Source.Name, err)
	}
	return tree, done, nil
}

// extract unpacks an artifact to a new directory; remove removes it.
func (r *Reconciler) extract(ctx context.Context, digest string) (tree string, remove func(), err error) {
	dir, err := os.MkdirTemp(r.Scratch, "kustomization-")
	if err != nil {
		return "", nil, fmt.Errorf("create a directory for its tree: %w", err)
	}
	remove = func() {
		if err := os.RemoveAll(dir); err != nil {
			r.Log.Warn("removing a source's tree failed", "digest", digest, "error", err)
		}
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	packed, err := r.Archives.OpenArtifact(ctx, digest)
	if err != nil {
		return "", nil, err
	}
	defer packed.Close() //nolint:errcheck // read only
	// Links in the temporary directory's path would look like links out of the tree.
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", nil, fmt.Errorf("create a directory for its tree: %w", err)
	}
	tree = filepath.Join(resolved, "tree")
	if _, err := archive.Extract(ctx, packed, tree, r.Limits, digest); err != nil {
		return "", nil, err
	}
	return tree, remove, nil
}
