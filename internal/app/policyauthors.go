// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// authorsOf are those who made the revision that a run planned, as far as its source tells: the
// author and committer of the commit, or who pushed the directory. Nobody is named if that is not
// known, and decisions then ask for one more person.
func authorsOf(ctx context.Context, reader client.Reader, obj *infrav1.Terraform, rec run.Record) []string {
	if obj.Spec.SourceRef == nil {
		return nil // an inline program: the object does not say who wrote it
	}
	name := types.NamespacedName{Namespace: obj.SourceNamespace(), Name: obj.Spec.SourceRef.Name}
	var source interface {
		client.Object
		sourcev1.Source
	}
	switch obj.Spec.SourceRef.Kind {
	case sourcev1.GitRepositoryKind:
		source = &sourcev1.GitRepository{}
	case sourcev1.ExternalArtifactKind:
		source = &sourcev1.ExternalArtifact{}
	default:
		return nil
	}
	if reader.Get(ctx, name, source) != nil {
		return nil
	}
	artifact := source.GetArtifact()
	if artifact == nil || artifact.Digest != rec.Spec.Artifact.Digest || artifact.Revision != rec.Spec.Artifact.Revision {
		return nil // the source has moved on
	}
	var authors []string
	for author := range strings.SplitSeq(artifact.Metadata[infrav1.ArtifactAuthors], ",") {
		if author = strings.TrimSpace(author); author != "" {
			authors = append(authors, author)
		}
	}
	return authors
}
