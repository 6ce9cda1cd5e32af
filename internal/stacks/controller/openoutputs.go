// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// openCandidates are the sorted keys of outputs that the program does not declare as sensitive,
// except keys that several outputs are written to: the last one wins.
func openCandidates(wanted []string, outputs map[string]statefile.PrintedOutput) []string {
	if len(wanted) == 0 {
		wanted = slices.Collect(maps.Keys(outputs))
	}
	open := map[string]bool{}
	for _, w := range wanted {
		name, alias := splitAlias(w)
		_, twice := open[alias]
		output, ok := outputs[name]
		open[alias] = ok && !output.Sensitive && !twice
	}
	maps.DeleteFunc(open, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(open))
}

// outputAnnotations are the wanted annotations of the outputs Secret: those of the stack, and the
// note about open outputs. That note stays until the next apply, as long as the values do.
func (o outputsWriter) outputAnnotations(ctx context.Context, p *collected, secret *corev1.Secret, data map[string][]byte, candidates []string) (map[string]string, error) {
	note := secret.Annotations[infrav1.OpenOutputsAnnotation]
	known, ok := inputs.OpenOutputsOf(secret)
	current := ok && p.obj.Status.OpenOutputsDigest == p.obj.SealOfOpenOutputs(note) && sameKeys(slices.Concat(known.Open, known.Closed), candidates) && maps.EqualFunc(secret.Data, data, bytes.Equal)
	if !current || p.ended != nil && p.ended.Spec.ID == p.obj.Status.LastAppliedRun {
		open, err := o.openOutputs(ctx, p, data, candidates, stayClosed(secret, data))
		if err != nil {
			return nil, err
		}
		note = open.Annotation(data)
	}
	return merged(p.obj.Spec.WriteOutputsToSecret.Annotations, map[string]string{infrav1.OpenOutputsAnnotation: note}), nil
}

// stayClosed are the keys that a note on the Secret closed and whose values are the same: the run that
// made them may have had other secrets than the last one. That note need not be sealed, because a forged
// one can only close more, and because Yuba seals a note before it writes the Secret.
func stayClosed(secret *corev1.Secret, data map[string][]byte) map[string]bool {
	var before inputs.OpenOutputs
	if json.Unmarshal([]byte(secret.Annotations[infrav1.OpenOutputsAnnotation]), &before) != nil {
		return nil
	}
	closed := map[string]bool{}
	for _, key := range before.Closed {
		had, ok := secret.Data[key]
		closed[key] = ok && bytes.Equal(had, data[key])
	}
	return closed
}

func sameKeys(a, b []string) bool {
	slices.Sort(a)
	return slices.Equal(a, b)
}

// openOutputs divides the candidates: a value that contains a secret is closed, because programs
// put passwords into URLs, and so is one that stays closed. Nothing is open if the record of the run that made the state is missing:
// it may have had other secrets.
func (o outputsWriter) openOutputs(ctx context.Context, p *collected, data map[string][]byte, candidates []string, closed map[string]bool) (inputs.OpenOutputs, error) {
	rec, err := o.applied(ctx, p)
	if errors.Is(err, run.ErrNotFound) || errors.Is(err, run.ErrDamaged) {
		return inputs.OpenOutputs{Open: []string{}, Closed: candidates}, nil
	}
	if err != nil {
		return inputs.OpenOutputs{}, fmt.Errorf("read the record of the run that made the outputs: %w", err)
	}
	if ours, err := o.madeState(ctx, p.obj, &rec); err != nil || !ours {
		return inputs.OpenOutputs{Open: []string{}, Closed: candidates}, err
	}
	return divide(&rec.Spec, data, candidates, closed), nil
}

// divide divides the candidates by the secrets of a run. A masker's care is for texts that people must
// be able to read; what is published takes none. Only settings of a backend are often no secrets.
func divide(spec *run.Spec, data map[string][]byte, candidates []string, closed map[string]bool) inputs.OpenOutputs {
	strict, masker, open := spec.StrictSecrets().Detector(), knownSecrets(spec).Masker(inputs.Mask), inputs.OpenOutputs{Open: []string{}}
	for _, key := range candidates {
		if value := string(data[key]); closed[key] || strict.Finds(value) || masker.Hides(value) {
			open.Closed = append(open.Closed, key)
		} else {
			open.Open = append(open.Open, key)
		}
	}
	return open
}

// madeState reports whether the state is the one that a run ended with, as far as Yuba knows.
func (o outputsWriter) madeState(ctx context.Context, obj *infrav1.Terraform, rec *run.Record) (bool, error) {
	if obj.KeepsOwnState() || rec.Result == nil || rec.Result.StateDigest == "" {
		return true, nil
	}
	now, err := o.states.Read(ctx, stateKeyOf(obj))
	if err != nil {
		return false, fmt.Errorf("read the state of the outputs: %w", err)
	}
	return now.Digest == rec.Result.StateDigest, nil
}

// applied returns the record of the run that applied last.
func (o outputsWriter) applied(ctx context.Context, p *collected) (run.Record, error) {
	id := p.obj.Status.LastAppliedRun
	switch {
	case id == "":
		return run.Record{}, run.ErrNotFound
	case p.ended != nil && p.ended.Spec.ID == id:
		return *p.ended, nil
	}
	return o.runs.Record(ctx, p.stack, id)
}

// seal records a note's digest in the status, first: readers of the Secret compare both.
func (o outputsWriter) seal(ctx context.Context, p *pass, note string, writing bool) error {
	digest := p.obj.SealOfOpenOutputs(note)
	if p.obj.Status.OpenOutputsDigest == digest {
		return nil
	}
	p.obj.Status.OpenOutputsDigest = digest
	if !writing {
		return nil // with the rest of the status
	}
	sealed := p.before.DeepCopy()
	sealed.Status.OpenOutputsDigest = digest
	if err := o.patchStatus(ctx, sealed, p.before); err != nil {
		return err
	}
	p.obj.ResourceVersion, p.before.ResourceVersion = sealed.ResourceVersion, sealed.ResourceVersion
	p.before.Status.OpenOutputsDigest = digest
	return nil
}

// distrust removes a note about open outputs unless the status of the stack that owns the Secret
// confirms it: many write Secrets, but only Yuba writes a stack's status.
func (g getter) distrust(ctx context.Context, secret *corev1.Secret) error {
	if secret.Annotations[infrav1.OpenOutputsAnnotation] == "" {
		return nil
	}
	owner := metav1.GetControllerOf(secret)
	if owner != nil && owner.Kind == infrav1.Kind && strings.HasPrefix(owner.APIVersion, infrav1.GroupVersion.Group+"/") {
		var t infrav1.Terraform
		err := g.stacks.Get(ctx, types.NamespacedName{Namespace: secret.Namespace, Name: owner.Name}, &t)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("find the stack that writes Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		to, note := t.Spec.WriteOutputsToSecret, secret.Annotations[infrav1.OpenOutputsAnnotation]
		if err == nil && t.UID == owner.UID && to != nil && to.Name == secret.Name && t.Status.OpenOutputsDigest == t.SealOfOpenOutputs(note) {
			return nil
		}
	}
	delete(secret.Annotations, infrav1.OpenOutputsAnnotation)
	return nil
}
