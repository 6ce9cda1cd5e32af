// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// gatherer reads the facts of one report.
type gatherer struct {
	client  client.Client
	now     time.Time
	sources map[string]*Source
	hosts   []string
	plans   map[types.UID][]string
	problem map[string]string
}

// Prepare makes the report about the stacks of a namespace, or of all if it is empty.
func Prepare(ctx context.Context, c client.Client, namespace string, now time.Time) (Report, error) {
	g := &gatherer{client: c, now: now, sources: map[string]*Source{}, plans: map[types.UID][]string{}, problem: map[string]string{}}
	var stacks infrav1.TerraformList
	if err := c.List(ctx, &stacks, client.InNamespace(namespace)); err != nil {
		if apimeta.IsNoMatchError(err) {
			return Report{}, fmt.Errorf("list stacks: the API does not serve the kind Terraform of %s. Install it:\n"+
				"    yuba crds install", infrav1.GroupVersion)
		}
		return Report{}, fmt.Errorf("list stacks: %w", err)
	}
	g.readOldPlans(ctx, namespace)
	states := map[string][]*infrav1.Terraform{}
	for i := range stacks.Items {
		if t := &stacks.Items[i]; !t.KeepsOwnState() {
			states[t.Namespace+"/"+t.StateSecretName()] = append(states[t.Namespace+"/"+t.StateSecretName()], t)
		}
	}
	report := Report{Stacks: []StackReport{}}
	for i := range stacks.Items {
		t := &stacks.Items[i]
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		f := Facts{Now: now, Stack: t, OldPlans: g.plans[t.UID], Source: g.source(ctx, t)}
		f.OutputsOwner, f.OutputsProblem = g.outputs(ctx, t)
		if !t.KeepsOwnState() {
			f.State = g.state(ctx, t)
			f.Lock, f.LockProblem = g.lock(ctx, t)
			f.Sharers = slices.DeleteFunc(slices.Clone(states[t.Namespace+"/"+t.StateSecretName()]), func(other *infrav1.Terraform) bool { return other == t })
		}
		report.Stacks = append(report.Stacks, Examine(f))
	}
	api := g.api(ctx)
	for _, problem := range g.problem {
		api.Unknown = append(api.Unknown, problem)
	}
	slices.Sort(api.Unknown)
	report.API = ExamineAPI(api)
	return report, nil
}

func (g *gatherer) state(ctx context.Context, t *infrav1.Terraform) *State {
	s := &State{Secret: t.StateSecretName()}
	var secret corev1.Secret
	err := g.client.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: s.Secret}, &secret)
	if apierrors.IsNotFound(err) {
		return s
	}
	if err != nil {
		s.Unknown = err.Error()
		return s
	}
	s.Found = true
	if secret.Annotations[state.AnnotationStateBlob] != "" {
		s.Elsewhere = true
		return s
	}
	data, err := unpack(secret.Data["tfstate"])
	if err != nil {
		s.Unreadable = err.Error()
		return s
	}
	file, err := statefile.Parse(data)
	if err != nil {
		s.Unreadable = err.Error()
		return s
	}
	s.Serial, s.Size, s.Encrypted = file.Serial, int64(len(data)), file.Encrypted
	for _, r := range file.Resources {
		if r.Mode == "managed" {
			s.Resources++
		}
	}
	return s
}

// unpack decompresses a state of OpenTofu's kubernetes backend.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, errors.New("its key tfstate is missing or empty")
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("it is not compressed with gzip")
	}
	data, err := io.ReadAll(io.LimitReader(r, state.MaxSize+1))
	if err != nil {
		return nil, errors.New("its compressed data is truncated or damaged")
	}
	if len(data) > state.MaxSize {
		return nil, fmt.Errorf("it is larger than %d MiB", state.MaxSize>>20)
	}
	return data, nil
}

func (g *gatherer) lock(ctx context.Context, t *infrav1.Terraform) (*state.LockInfo, string) {
	holder, err := state.New(g.client, nil).Holder(ctx, state.KeyOfStack(t))
	if err != nil {
		return nil, err.Error()
	}
	return holder, ""
}

// outputs returns the other owner of the Secret for a stack's outputs, if any.
func (g *gatherer) outputs(ctx context.Context, t *infrav1.Terraform) (owner, problem string) {
	if t.Spec.WriteOutputsToSecret == nil {
		return "", ""
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	switch err := g.client.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Spec.WriteOutputsToSecret.Name}, secret); {
	case apierrors.IsNotFound(err):
		return "", ""
	case err != nil:
		return "", err.Error()
	case metav1.IsControlledBy(secret, t):
		return "", ""
	}
	if controller := metav1.GetControllerOf(secret); controller != nil {
		return controller.Kind + " " + controller.Name, ""
	}
	return "no controller", ""
}

// source reads each source once, however many stacks use it.
func (g *gatherer) source(ctx context.Context, t *infrav1.Terraform) *Source {
	if _, inline := t.InlineProgram(); inline || t.Spec.SourceRef == nil {
		return nil
	}
	ref, namespace := t.Spec.SourceRef, t.SourceNamespace()
	name := fmt.Sprintf("%s %s/%s", ref.Kind, namespace, ref.Name)
	known, ok := g.sources[name]
	if !ok {
		known = g.readSource(ctx, ref.Kind, client.ObjectKey{Namespace: namespace, Name: ref.Name})
		known.Name = name
		g.sources[name] = known
	}
	own := *known
	own.OtherNamespace = namespace != t.Namespace
	return &own
}

func (g *gatherer) readSource(ctx context.Context, kind string, key client.ObjectKey) *Source {
	var obj interface {
		client.Object
		GetConditions() []metav1.Condition
	}
	switch kind {
	case infrav1.SourceKindGitRepository:
		obj = &sourcev1.GitRepository{}
	case infrav1.SourceKindOCIRepository:
		obj = &sourcev1.OCIRepository{}
	case infrav1.SourceKindBucket:
		obj = &sourcev1.Bucket{}
	case infrav1.SourceKindExternalArtifact:
		obj = &sourcev1.ExternalArtifact{}
	default:
		return &Source{Problem: "it is of a kind that cannot be a source"}
	}
	err := g.client.Get(ctx, key, obj)
	switch {
	case apierrors.IsNotFound(err):
		return &Source{}
	case apimeta.IsNoMatchError(err):
		return &Source{Problem: "the API does not serve that kind"}
	case err != nil:
		return &Source{Problem: err.Error()}
	}
	s := &Source{Found: true}
	if ready := apimeta.FindStatusCondition(obj.GetConditions(), "Ready"); ready != nil && ready.Status != metav1.ConditionTrue {
		s.Message = ready.Message
	}
	if artifact := obj.(sourcev1.Source).GetArtifact(); artifact != nil {
		s.Artifact = true
		g.addHost(artifact.URL)
	}
	return s
}

func (g *gatherer) addHost(address string) {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if host != "" && !slices.Contains(g.hosts, host) {
		g.hosts = append(g.hosts, host)
	}
}

// oldPlanPrefix starts the names of tofu-controller's Secrets and ConfigMaps with plans.
const oldPlanPrefix = "tfplan-"

// readOldPlans finds tofu-controller's plans by their owners, without reading their contents.
func (g *gatherer) readOldPlans(ctx context.Context, namespace string) {
	for _, kind := range []string{"Secret", "ConfigMap"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := g.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			g.problem[kind] = fmt.Sprintf("Cannot list plans of tofu-controller: %v", err)
			continue
		}
		for _, object := range list.Items {
			owner := metav1.GetControllerOf(&object)
			if owner == nil && len(object.OwnerReferences) > 0 {
				owner = &object.OwnerReferences[0]
			}
			if strings.HasPrefix(object.Name, oldPlanPrefix) && owner != nil && owner.Kind == infrav1.Kind && !readableOfYuba(kind, &object) {
				g.plans[owner.UID] = append(g.plans[owner.UID], kind+" "+object.Name)
			}
		}
	}
}

// readableOfYuba reports whether Yuba wrote a readable plan. Those of tofu-controller have the same
// names, labels and annotations, but another field manager. Plans that are not readable are never
// Yuba's.
func readableOfYuba(kind string, object client.Object) bool {
	readable := kind == "ConfigMap" || strings.Contains(object.GetName(), ".json")
	return readable && slices.ContainsFunc(object.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == "yuba" })
}
