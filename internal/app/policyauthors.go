// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// authorship says who changed a stack since its last apply: the authors that are known, and why there
// may be others; empty if there are none.
type authorship struct {
	authors []string
	unknown string
}

// authorsOf finds out who made the change that a run planned, as far as its source tells: the
// authors and committers of the commits, or who pushed the directories.
func (p *policies) authorsOf(ctx context.Context, obj *infrav1.Terraform, rec run.Record) authorship {
	artifact := sourceArtifact(ctx, p.direct, obj)
	var last *run.Record
	if id := obj.Status.LastAppliedRun; id != "" && p.record != nil {
		if found, err := p.record(ctx, run.StackOf(obj), id); err == nil {
			last = &found
		}
	}
	a := authorsBetween(artifact, last, rec)
	if !obj.DeletionTimestamp.IsZero() {
		a.unknown = "the object does not say who deleted it"
	}
	return a
}

// authorsBetween compares what a run planned with the last apply.
func authorsBetween(artifact *meta.Artifact, last *run.Record, rec run.Record) (a authorship) {
	is := rec.Spec.Artifact
	if artifact == nil || artifact.Digest != is.Digest || artifact.Revision != is.Revision {
		a.unknown = "the source does not say who made the planned revision"
		return a
	}
	since := ""
	if last != nil {
		since = last.Spec.Artifact.Revision
	}
	var complete bool
	a.authors, complete = infrav1.AuthorsSince(artifact, since)
	switch {
	case last == nil:
		a.unknown = "the last apply is not known"
	case last.Generation == 0 || last.Generation != rec.Generation:
		a.unknown = "the object does not say who changed it since the last apply"
	case !sameInputs(&last.Spec, &rec.Spec):
		a.unknown = "inputs of the stack have changed since the last apply"
	case !complete:
		a.unknown = "the source does not name the authors of all commits since the last apply"
	case since == is.Revision && last.Spec.Artifact.Digest != is.Digest:
		a.unknown = "the source has other files of the same revision since the last apply"
	}
	return a
}

// sameInputs reports whether two runs differ in nothing but the program.
func sameInputs(a, b *run.Spec) bool {
	type part struct {
		Backend    run.Backend
		Variables  map[string]run.Variable
		Env        []run.EnvVar
		Files      []run.File
		CLIConfig  []byte
		Identities []run.Identity
		Tool       run.Tool
		VarFiles   []string
		Targets    []string
		Destroy    bool
		Text       [3]string
	}
	of := func(s *run.Spec) []byte {
		// Errors are impossible: each part was JSON before.
		text, _ := json.Marshal(part{s.Backend, s.Variables, s.Env, s.Files, s.CLIConfig, s.Identities, s.Tool, s.VarFiles, s.Targets, s.Destroy,
			[3]string{s.Path, s.Workspace, s.ServiceAccount}})
		return text
	}
	return bytes.Equal(of(a), of(b))
}

// sourceArtifact is the current artifact of the stack's source; nil if its kind does not name authors.
func sourceArtifact(ctx context.Context, reader client.Reader, obj *infrav1.Terraform) *meta.Artifact {
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
	return source.GetArtifact()
}
