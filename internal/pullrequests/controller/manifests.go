// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/discover"
)

const (
	// maxFields limits the fields of a manifest that are compared one by one, maxPath the path of one, maxField the text of
	// one that is shown.
	maxFields = 2000
	maxPath   = 1000
	maxField  = 300
	// maxFew is how many fields of a manifest with too many are shown.
	maxFew = 50
	// maxFlat limits the bytes of all fields that are compared one by one, maxManifests those of a pull request that are
	// kept.
	maxFlat      = 64 << 20
	maxManifests = 8 << 20
	// maxChanged limits the stacks of a pull request.
	maxChanged = 400
	// theRest is the field that stands for a manifest whose fields are not all compared one by one. No list of
	// harmless fields has it.
	theRest = "(all fields, as there are too many, or two of one name)"
)

// manifests adds the stacks whose manifest changes: created, deleted, or with other fields.
func (r *Reconciler) manifests(ctx context.Context, p *pull, f *finding, base *Source) error {
	if len(discover.Changed(f.before, f.after)) == 0 {
		return nil
	}
	var list kustomizev1.KustomizationList
	err := r.Client.List(ctx, &list, client.InNamespace(f.source.Namespace))
	if apimeta.IsNoMatchError(err) {
		return nil // nobody makes stacks of manifests here
	}
	if err != nil {
		return fmt.Errorf("list the Kustomizations: %w", err)
	}
	follow := slices.DeleteFunc(list.Items, func(k kustomizev1.Kustomization) bool { return !makes(&k, f.source) })
	if len(follow) == 0 {
		return nil
	}
	before, after, err := r.Sources.Manifests(ctx, follow, base, f.tree, f.changed)
	if err != nil {
		return err
	}
	before, after = differing(before, after)
	was, is := byName(before), byName(after)
	left := maxFlat
	for _, d := range discover.Compare(flattened(before, &left), flattened(after, &left)) {
		name := d.Namespace + "/" + d.Name
		if err := r.change(ctx, p, f, d, was[name], is[name]); err != nil {
			return err
		}
	}
	slices.SortFunc(p.Stacks, func(a, b *stack) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// change adds a stack whose manifest changes.
func (r *Reconciler) change(ctx context.Context, p *pull, f *finding, d discover.Difference, was, is Manifest) error {
	name := d.Namespace + "/" + d.Name
	var t infrav1.Terraform
	if len(is.Object) > 0 {
		if err := json.Unmarshal(is.Object, &t); err != nil {
			return fmt.Errorf("read the manifest of the stack %s: %w", name, err)
		}
	}
	if !named(f.planner, &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}) {
		return nil
	}
	s := p.find(name)
	if s == nil && len(p.Stacks) >= maxChanged {
		f.more = true
		return nil
	}
	if s == nil {
		s = &stack{Name: name, State: comment.Waiting, Path: t.Spec.Path, Via: f.via}
		p.Stacks = append(p.Stacks, s)
	}
	s.Environment = environmentIn(f.planner, cmp.Or(string(is.Object), string(was.Object)))
	if d.Deleted {
		if err := r.deleted(ctx, f.planner, s, was); err != nil {
			return err
		}
	} else {
		for _, field := range d.Fields {
			s.Fields = append(s.Fields, comment.Field{Path: field.Path, Before: text(field.Before, maxField), After: text(field.After, maxField)})
		}
		r.foresee(ctx, f, s, &t, is, d)
	}
	f.weigh(s)
	return nil
}

// environmentIn is the environment in a manifest.
func environmentIn(o *yubav1.PullRequestPlanner, manifest string) string {
	label := o.Spec.Feedback.EnvironmentLabel
	var object metav1.PartialObjectMetadata
	if label == "" || json.Unmarshal([]byte(manifest), &object) != nil {
		return ""
	}
	value := object.Labels[label]
	if len(validation.IsValidLabelValue(value)) > 0 {
		return "" // the API will refuse it
	}
	return value
}

// weigh holds a stack whose manifest is too much to be kept, with those of the others.
func (f *finding) weigh(s *stack) {
	size := len(s.Manifest)
	for _, field := range s.Fields {
		size += len(field.Path) + len(field.Before) + len(field.After)
	}
	if f.kept+size <= maxManifests {
		f.kept += size
		return
	}
	s.Manifest, s.Fields = nil, nil
	s.State, s.Reason = comment.Held, fmt.Sprintf("the changed manifests of the pull request have more than %d MiB", maxManifests>>20)
}

// differing are the manifests that are not the same in both lists.
func differing(before, after []Manifest) (was, is []Manifest) {
	old, now := byName(before), byName(after)
	same := func(m Manifest) bool {
		name := m.Namespace + "/" + m.Name
		one, existed := old[name]
		other, exists := now[name]
		return existed && exists && bytes.Equal(one.Object, other.Object)
	}
	return slices.DeleteFunc(slices.Clone(before), same), slices.DeleteFunc(slices.Clone(after), same)
}

// elsewhere is why a stack is not planned that the planner does not reach.
const elsewhere = "it is in another namespace than the PullRequestPlanner"

// The labels of objects that a Kustomization has made.
const (
	labelKustomization          = "kustomize.toolkit.fluxcd.io/name"
	labelKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"
)

// makes reports whether a Kustomization makes objects of a GitRepository.
func makes(k *kustomizev1.Kustomization, source *sourcev1.GitRepository) bool {
	ref := k.Spec.SourceRef
	return ref.Kind == sourcev1.GitRepositoryKind && ref.Name == source.Name && (ref.Namespace == "" || ref.Namespace == source.Namespace) &&
		k.Spec.KubeConfig == nil && !k.Spec.Suspend && k.DeletionTimestamp.IsZero()
}

// foresee prepares the plan of a stack with another manifest.
func (r *Reconciler) foresee(ctx context.Context, f *finding, s *stack, t *infrav1.Terraform, m Manifest, d discover.Difference) {
	hold := func(why string) { s.State, s.Reason = comment.Held, why }
	if d.Created {
		s.Fate = comment.Created
	}
	s.Elsewhere, s.Files = !follows(t, f.source), ""
	if !s.Elsewhere {
		s.Files = discover.Sum(f.head, readBy(t))
	}
	switch {
	case s.State != comment.Waiting: // its program is not planned, either
		return
	case !r.reaches(f.planner, d.Namespace):
		hold(elsewhere)
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
		if slices.ContainsFunc(harmless, fits) && !strings.Contains(field.Path, "valueFrom") && !strings.Contains(field.Path, infrav1.AnnotationPullRequest) || d.Created && !elsewhere && fits("spec.sourceRef") {
			continue
		}
		if len(names) < maxNamed {
			names = append(names, text(field.Path, maxField))
		}
	}
	return names
}

// deleted says what becomes of a stack whose manifest is removed.
func (r *Reconciler) deleted(ctx context.Context, o *yubav1.PullRequestPlanner, s *stack, m Manifest) error {
	var t *infrav1.Terraform
	if r.reaches(o, m.Namespace) {
		t = &infrav1.Terraform{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, t); apierrors.IsNotFound(err) {
			t = nil
		} else if err != nil {
			return fmt.Errorf("read the stack %s: %w", s.Name, err)
		}
	}
	return s.removed(r.reaches(o, m.Namespace), t, m)
}

// reaches reports whether a planner may plan the stacks of a namespace.
func (r *Reconciler) reaches(o *yubav1.PullRequestPlanner, namespace string) bool {
	return namespace == o.Namespace || r.AllowCrossNamespace
}

// removed takes what becomes of the stack without its manifest. live is the stack; nil if there is none, or none that the
// planner reaches. Its plan is made with its own program and credentials, so that it must really be the Kustomization's.
func (s *stack) removed(reached bool, live *infrav1.Terraform, m Manifest) error {
	s.Fate, s.State, s.Reason, s.Problems, s.Verdicts = comment.Deleted, comment.Planned, "", nil, nil
	s.Manifest, s.Elsewhere = nil, false
	switch {
	case !reached:
		s.State, s.Reason = comment.Held, elsewhere
	case !m.Prunes:
		s.Reason = "the Kustomization does not prune, so that the stack stays"
	case live == nil:
		s.Reason = "the stack does not exist"
	case live.Labels[labelKustomization] != m.Kustomization.Name || live.Labels[labelKustomizationNamespace] != m.Kustomization.Namespace:
		s.State, s.Reason = comment.Held, "its labels do not say that the Kustomization "+m.Kustomization.String()+" made it, so that nothing deletes it, or something else does"
	case live.Spec.DestroyResourcesOnDeletion:
		// Its deletion destroys with the program that it has now.
		live = live.DeepCopy()
		live.Spec.Destroy = true
		manifest, err := json.Marshal(live)
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

// flattened are manifests with their fields one by one, as long as there is something left of the bytes for them.
func flattened(all []Manifest, left *int) (out []discover.Manifest) {
	for _, m := range all {
		var object map[string]any
		if json.Unmarshal(m.Object, &object) != nil {
			continue // the object could not be built
		}
		fields, err := fieldsOf(map[string]any{"spec": object["spec"], "metadata": metadataOf(object)}, left)
		if err != nil {
			continue // it came from JSON
		}
		out = append(out, discover.Manifest{Kind: infrav1.Kind, Namespace: m.Namespace, Name: m.Name, Fields: fields})
	}
	return out
}

// metadataOf is what people write.
func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
}

// fieldsOf are the leaves of a value by their path. If they are not all there, the field theRest has a digest
// of everything, so that nothing changes unseen.
func fieldsOf(value any, left *int) (map[string]string, error) {
	fields := map[string]string{}
	if *left > 0 && flatten("", value, fields) {
		for path, text := range fields {
			*left -= len(path) + len(text)
		}
		return fields, nil
	}
	data, err := json.Marshal(value)
	// A few are shown all the same.
	for _, path := range slices.Sorted(maps.Keys(fields))[min(len(fields), maxFew):] {
		delete(fields, path)
	}
	fields[theRest] = fmt.Sprintf("%x", sha256.Sum256(data))
	return fields, err
}

// flatten lists the leaves of a value by their path, and reports whether it has listed all of them.
func flatten(path string, value any, into map[string]string) (all bool) {
	if all = true; len(path) > maxPath {
		return false
	}
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if all = flatten(strings.TrimPrefix(path+"."+key, "."), v[key], into) && all; len(into) >= maxFields {
				return false
			}
		}
		if len(v) > 0 {
			return all
		}
	case []any:
		for i, one := range v {
			if all = flatten(path+"["+strconv.Itoa(i)+"]", one, into) && all; len(into) >= maxFields {
				return false
			}
		}
		if len(v) > 0 {
			return all
		}
	}
	data, err := json.Marshal(value)
	if _, twice := into[path]; twice || err != nil {
		return false
	}
	into[path] = string(data)
	return true
}
