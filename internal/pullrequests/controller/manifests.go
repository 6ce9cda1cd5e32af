// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

const (
	// maxFields limits the fields of a manifest that are compared, maxField the text of one that is shown.
	maxFields = 2000
	maxField  = 300
)

// manifests adds the stacks whose manifest changes: created, deleted, or with other fields.
func (r *Reconciler) manifests(ctx context.Context, l *link, p *pull, f *finding, base *Source) error {
	if len(discover.Changed(f.before, f.after)) == 0 {
		return nil
	}
	var list kustomizev1.KustomizationList
	err := r.Client.List(ctx, &list, client.InNamespace(l.source.Namespace))
	if apimeta.IsNoMatchError(err) {
		return nil // nobody makes stacks of manifests here
	}
	if err != nil {
		return fmt.Errorf("list the Kustomizations: %w", err)
	}
	follow := slices.DeleteFunc(list.Items, func(k kustomizev1.Kustomization) bool { return !makes(&k, l.source) })
	if len(follow) == 0 {
		return nil
	}
	before, after, err := r.Sources.Manifests(ctx, follow, base, p.source.Source, f.changed)
	if err != nil {
		return err
	}
	was, is := byName(before), byName(after)
	for _, d := range discover.Compare(flattened(before), flattened(after)) {
		name := d.Namespace + "/" + d.Name
		var t infrav1.Terraform
		if m, ok := is[name]; ok {
			if err := json.Unmarshal(m.Object, &t); err != nil {
				return fmt.Errorf("read the manifest of the stack %s: %w", name, err)
			}
		}
		if !named(f.planner, &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}) {
			continue
		}
		s := p.find(name)
		if s == nil {
			s = &stack{Name: name, State: comment.Waiting, Path: t.Spec.Path}
			p.Stacks = append(p.Stacks, s)
		}
		for _, field := range d.Fields {
			s.Fields = append(s.Fields, comment.Field{Path: field.Path, Before: text(field.Before, maxField), After: text(field.After, maxField)})
		}
		if d.Deleted {
			if err := r.deleted(ctx, s, was[name].Prunes); err != nil {
				return err
			}
			continue
		}
		r.foresee(ctx, l, f, s, &t, is[name], d)
	}
	slices.SortFunc(p.Stacks, func(a, b *stack) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// makes reports whether a Kustomization makes objects of a GitRepository.
func makes(k *kustomizev1.Kustomization, source *sourcev1.GitRepository) bool {
	ref := k.Spec.SourceRef
	return ref.Kind == sourcev1.GitRepositoryKind && ref.Name == source.Name && (ref.Namespace == "" || ref.Namespace == source.Namespace) &&
		k.Spec.KubeConfig == nil && !k.Spec.Suspend && k.DeletionTimestamp.IsZero()
}

// foresee prepares the plan of a stack with another manifest.
func (r *Reconciler) foresee(ctx context.Context, l *link, f *finding, s *stack, t *infrav1.Terraform, m Manifest, d discover.Difference) {
	hold := func(why string) { s.State, s.Reason = comment.Held, why }
	if d.Created {
		s.Fate = comment.Created
	}
	s.Elsewhere, s.Files = !follows(t, l.source), ""
	if !s.Elsewhere {
		s.Files = discover.Sum(f.head, readBy(t))
	}
	switch {
	case s.State != comment.Waiting: // its program is not planned, either
		return
	case d.Namespace != f.planner.Namespace && !r.AllowCrossNamespace:
		hold("it is in another namespace than the PullRequestPlanner")
		return
	case bytes.Contains(m.Object, []byte(Withheld)):
		hold("its manifest has values of Secrets, which are not given to the code of a pull request")
		return
	case f.planner.Spec.Programs != yubav1.ProgramsAllow:
		if names := reaching(d, s.Elsewhere); len(names) > 0 {
			hold("it is not planned, as these fields can reach other credentials, states or programs (spec.programs of the PullRequestPlanner is Refuse): " + strings.Join(names, ", "))
			return
		}
	}
	if !s.Elsewhere {
		admitted := f.admit(readBy(t), false)
		if s.State, s.Reason = admitted.State, admitted.Reason; s.State != comment.Waiting {
			return
		}
	}
	object, err := r.Sources.Foresee(ctx, m.Object)
	if err != nil {
		s.State, s.Problems = comment.Failed, []comment.Problem{{Summary: "the API would refuse the manifest", Detail: cut(err.Error(), maxError)}}
		return
	}
	s.Manifest = object
}

// harmless are the fields of a stack that name nothing outside of its program.
var harmless = []string{"spec.approvePlan", "spec.path", "spec.vars", "spec.interval", "spec.retryInterval", "spec.driftDetectionInterval", "spec.targets", "spec.parallelism",
	"spec.destroy", "spec.destroyResourcesOnDeletion", "spec.force", "spec.planOnly", "spec.refreshBeforeApply", "spec.storeReadablePlan", "spec.disableDriftDetection",
	"spec.dependsOn", "spec.writeOutputsToSecret", "spec.suspend", "spec.tfVarsFiles", "spec.healthChecks", "spec.upgradeOnInit", "spec.alwaysCleanupRunnerPod",
	"metadata.labels", "metadata.annotations"}

// reaching lists the changed fields that are not harmless. A created stack has the repository as its source, of course.
func reaching(d discover.Difference, elsewhere bool) (names []string) {
	for _, field := range d.Fields {
		fits := func(known string) bool {
			return field.Path == known || strings.HasPrefix(field.Path, known+".") || strings.HasPrefix(field.Path, known+"[")
		}
		// vars may take values of Secrets.
		if slices.ContainsFunc(harmless, fits) && !strings.Contains(field.Path, "valueFrom") || d.Created && !elsewhere && fits("spec.sourceRef") {
			continue
		}
		if len(names) < maxNamed {
			names = append(names, text(field.Path, maxField))
		}
	}
	return names
}

// deleted says what becomes of a stack whose manifest is removed.
func (r *Reconciler) deleted(ctx context.Context, s *stack, prunes bool) error {
	namespace, name, _ := strings.Cut(s.Name, "/")
	s.Fate, s.State, s.Problems, s.Verdicts = comment.Deleted, comment.Planned, nil, nil
	var t infrav1.Terraform
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &t); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the stack %s: %w", s.Name, err)
	}
	switch {
	case !prunes:
		s.Reason = "the Kustomization does not prune, so that the stack stays"
	case t.Spec.DestroyResourcesOnDeletion:
		// Its deletion destroys with the program that it has now.
		t.Spec.Destroy = true
		manifest, err := json.Marshal(&t)
		if err != nil {
			return err
		}
		s.State, s.Manifest, s.Elsewhere = comment.Waiting, manifest, true
	default:
		s.Reason = "its resources stay, without a stack"
	}
	return nil
}

func byName(all []Manifest) map[string]Manifest {
	out := map[string]Manifest{}
	for _, m := range all {
		out[m.Namespace+"/"+m.Name] = m
	}
	return out
}

func flattened(all []Manifest) (out []discover.Manifest) {
	for _, m := range all {
		var object map[string]any
		if json.Unmarshal(m.Object, &object) != nil {
			continue // the object could not be built
		}
		fields := map[string]string{}
		flatten("", map[string]any{"spec": object["spec"], "metadata": metadataOf(object)}, fields)
		out = append(out, discover.Manifest{Kind: infrav1.Kind, Namespace: m.Namespace, Name: m.Name, Fields: fields})
	}
	return out
}

// metadataOf is what people write.
func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
}

// flatten lists the leaves of a value by their path.
func flatten(path string, value any, into map[string]string) {
	if len(into) >= maxFields {
		return
	}
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			flatten(strings.TrimPrefix(path+"."+key, "."), v[key], into)
		}
	case []any:
		for i, one := range v {
			flatten(path+"["+strconv.Itoa(i)+"]", one, into)
		}
	default:
		data, err := json.Marshal(v)
		if err == nil {
			into[path] = string(data)
		}
	}
}
