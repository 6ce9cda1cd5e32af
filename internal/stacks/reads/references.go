// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// References lists the objects that a stack reads, for the index.
func References(t *infrav1.Terraform) []string {
	var refs []string
	add := func(kind, namespace, name string) {
		if name != "" {
			refs = append(refs, kind+"/"+namespace+"/"+name)
		}
	}
	spec := &t.Spec
	if spec.SourceRef != nil {
		add(spec.SourceRef.Kind, t.SourceNamespace(), spec.SourceRef.Name)
		if ref := t.ProgramSource(); ref.Name != spec.SourceRef.Name {
			add(ref.Kind, t.SourceNamespace(), ref.Name)
		}
	}
	// The stack only writes the outputs Secret, but a foreign Secret of that name blocks the write.
	if spec.WriteOutputsToSecret != nil {
		add("Secret", t.Namespace, spec.WriteOutputsToSecret.Name)
	}
	for _, v := range spec.VarsFrom {
		add(v.Kind, t.Namespace, v.Name)
	}
	for _, b := range spec.BackendConfigsFrom {
		add(b.Kind, t.Namespace, b.Name)
	}
	for _, s := range spec.ReadInputsFromSecrets {
		add("Secret", t.Namespace, s.Name)
	}
	for _, f := range spec.FileMappings {
		add("Secret", t.Namespace, f.SecretRef.Name)
	}
	if ref := spec.CliConfigSecretRef; ref != nil {
		add("Secret", cmp.Or(ref.Namespace, t.Namespace), ref.Name)
	}
	for _, v := range spec.Vars {
		addValueFrom(add, t.Namespace, v.ValueFrom)
	}
	env, envFrom := spec.Env, spec.EnvFrom
	if pod := spec.RunnerPodTemplate; pod != nil {
		env, envFrom = slices.Concat(pod.Spec.Env, env), slices.Concat(pod.Spec.EnvFrom, envFrom)
	}
	for _, e := range env {
		addValueFrom(add, t.Namespace, e.ValueFrom)
	}
	for _, e := range envFrom {
		if e.SecretRef != nil {
			add("Secret", t.Namespace, e.SecretRef.Name)
		}
		if e.ConfigMapRef != nil {
			add("ConfigMap", t.Namespace, e.ConfigMapRef.Name)
		}
	}
	return refs
}

func addValueFrom(add func(kind, namespace, name string), namespace string, from *corev1.EnvVarSource) {
	switch {
	case from == nil:
	case from.SecretKeyRef != nil:
		add("Secret", namespace, from.SecretKeyRef.Name)
	case from.ConfigMapKeyRef != nil:
		add("ConfigMap", namespace, from.ConfigMapKeyRef.Name)
	}
}

// Records reads runs.
type Records interface {
	Record(ctx context.Context, stack run.Stack, id string) (run.Record, error)
}

// Referred calls refer with the digest of each archive that a stack needs besides those of sources.
func Referred(ctx context.Context, reader client.Reader, records Records, refer func(digest string)) error {
	return EachStack(ctx, reader, func(obj *infrav1.Terraform) error { return referredBy(ctx, records, obj, refer) })
}

// EachStack calls do with every stack, and reads them in pages.
func EachStack(ctx context.Context, reader client.Reader, do func(*infrav1.Terraform) error) error {
	next := ""
	for {
		var page infrav1.TerraformList
		if err := reader.List(ctx, &page, client.Limit(500), client.Continue(next)); err != nil {
			return fmt.Errorf("list the stacks: %w", err)
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// referredBy finds the archives of a stack: its inline program, the last applied one (a destroy may
// need it), those of its current run and its pending plan.
func referredBy(ctx context.Context, records Records, obj *infrav1.Terraform, refer func(digest string)) error {
	if files, ok := obj.InlineProgram(); ok {
		// A program that cannot be packed is not in the store.
		if digest, err := archive.PackInline(files, io.Discard); err == nil {
			refer(digest)
		}
	}
	status := &obj.Status
	if a := status.LastAppliedArtifact; a != nil {
		refer(a.Digest)
	}
	ids := []string{status.LastAppliedRun, status.Plan.RunID}
	if status.CurrentRun != nil {
		ids = append(ids, status.CurrentRun.ID)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		rec, err := records.Record(ctx, run.StackOf(obj), id)
		switch {
		case errors.Is(err, run.ErrNotFound), errors.Is(err, run.ErrDamaged):
			continue // such a run is never used again
		case err != nil:
			return fmt.Errorf("read run %s of %s/%s for the archive it was made of: %w", id, obj.Namespace, obj.Name, err)
		}
		refer(rec.Spec.Artifact.Digest)
	}
	return nil
}
