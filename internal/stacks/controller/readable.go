// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

const (
	// maxChunk is how much one Secret or ConfigMap holds: the API's limit for the data of either.
	maxChunk = 1 << 20
	// maxChunks bounds what a plan may take of the API's database, which has its limit for everybody together.
	maxChunks = 16
)

// What tofu-controller writes on readable plans.
const (
	labelPlanName          = "infra.contrib.fluxcd.io/plan-name"
	labelPlanWorkspace     = "infra.contrib.fluxcd.io/plan-workspace"
	annotationPlanName     = "infra.contrib.fluxcd.io/plan-full-name"
	annotationPlanSpace    = "infra.contrib.fluxcd.io/plan-full-workspace"
	annotationPlanChunk    = "infra.contrib.fluxcd.io/plan-chunk"
	annotationPlanHash     = "infra.contrib.fluxcd.io/plan-hash"
	annotationSavedPlan    = "savedPlan"
	annotationPlanEncoding = "encoding"
	planKey                = "tfplan"
)

// The forms of readable plans.
const (
	readableHuman = "human"
	readableJSON  = "json"
)

// readableForm is the form that the object asks for, empty for none.
func readableForm(obj *infrav1.Terraform) string {
	if f := obj.Spec.StoreReadablePlan; f == readableHuman || f == readableJSON {
		return f
	}
	return ""
}

// planName is the name that a readable plan's labels carry.
func planName(obj *infrav1.Terraform, form string) string {
	if form == readableJSON {
		return obj.Name + ".json"
	}
	return obj.Name
}

// ensureReadable stores the plan that was recorded in this pass as the object asks for, in the place of the one before.
func (r *Reconciler) ensureReadable(ctx context.Context, p *acted) error {
	obj, want := p.obj, readableForm(p.obj)
	if had := obj.Status.Plan.Readable; had != "" && had != want {
		if err := r.dropReadable(ctx, obj, had, nil); err != nil {
			return err
		}
		obj.Status.Plan.Readable = ""
	}
	if want == "" || p.ended == nil || p.ended.Result.Plan == nil || p.ended.Result.Class == run.FailureRefused {
		return nil
	}
	part := run.BlobPlanText
	if want == readableJSON {
		part = run.BlobPlanShow
	}
	data, err := r.Runs.ReadPart(ctx, p.stack, p.ended.Spec.ID, part)
	if errors.Is(err, run.ErrNotFound) {
		return nil // it applied what another run had planned, or the field was not set when it began
	}
	if err != nil {
		return err
	}
	objects := readableObjects(obj, want, planOf(&p.collected), data)
	for _, o := range objects {
		if err := r.putReadable(ctx, obj, o); err != nil {
			return readableFailed(&p.pass, err)
		}
	}
	if err := r.dropReadable(ctx, obj, want, objects); err != nil {
		return readableFailed(&p.pass, err)
	}
	obj.Status.Plan.Readable = want
	return nil
}

// planOf is the id of the plan that was recorded: the one that waits, the one that was applied, or what a plan without
// changes would have been called.
func planOf(p *collected) string {
	status := &p.obj.Status.Plan
	switch result := p.ended.Result; {
	case status.Pending != "":
		return status.Pending
	case result.Applied && status.LastApplied != "":
		return status.LastApplied
	}
	return decide.BasePlanID(p.ended.Spec.Artifact.Revision)
}

// readableFailed tells what the API refuses for good; a plan that cannot be read there holds nobody up. Everything else
// is tried again.
func readableFailed(p *pass, err error) error {
	var foreign *foreignPlanError
	if !errors.As(err, &foreign) && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsRequestEntityTooLargeError(err) {
		return err
	}
	p.notes = append(p.notes, note{warning: true, reason: "Warning", action: "StorePlan", message: err.Error()})
	return nil
}

// readableObjects are the Secrets or ConfigMaps of a plan, as tofu-controller names and marks them.
func readableObjects(obj *infrav1.Terraform, form, planID string, data []byte) []client.Object {
	whole, chunks := readableChunks(obj, form, data)
	list := make([]client.Object, 0, len(chunks))
	for i, chunk := range chunks {
		meta := readableMeta(obj, form, planID)
		hash := sha256.Sum256(whole)
		if len(chunks) > 1 {
			meta.Name += "-" + strconv.Itoa(i)
			meta.Annotations[annotationPlanChunk] = strconv.Itoa(i)
			hash = sha256.Sum256(chunk)
		}
		meta.Annotations[annotationPlanHash] = fmt.Sprintf("%x", hash)
		if form == readableJSON {
			meta.Annotations[annotationPlanEncoding] = "gzip"
			list = append(list, &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{planKey: chunk}})
		} else {
			list = append(list, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{planKey: string(chunk)}})
		}
	}
	return list
}

func readableMeta(obj *infrav1.Terraform, form, planID string) metav1.ObjectMeta {
	name, workspace := planName(obj, form), obj.WorkspaceName()
	return metav1.ObjectMeta{
		Namespace: obj.Namespace, Name: "tfplan-" + workspace + "-" + name,
		Labels: merged(map[string]string{labelPlanName: labelValue(name), labelPlanWorkspace: labelValue(workspace)}, scope.Of(obj.Labels).Labels()),
		Annotations: map[string]string{annotationSavedPlan: planID, annotationPlanName: name,
			annotationPlanSpace: workspace},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind, Name: obj.Name, UID: obj.UID}},
	}
}

// labelValue shortens what is too long for a label as tofu-controller does.
func labelValue(text string) string {
	const most = 63
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	mark := fmt.Sprintf("-%x", sum[:8])
	return text[:most-len(mark)] + mark
}

// readableChunks splits a plan into what the objects hold, and returns it whole, before it is compressed, too. One that
// is too large is cut, or as a document left out, with a word on where it is to be seen.
func readableChunks(obj *infrav1.Terraform, form string, data []byte) (whole []byte, chunks [][]byte) {
	see := fmt.Sprintf("yuba plan %s -n %s", obj.Name, obj.Namespace)
	if form == readableHuman {
		whole = bytes.ToValidUTF8(data, []byte("\uFFFD"))
		if most := maxChunks * maxChunk; len(whole) > most {
			note := fmt.Sprintf("\n(truncated: the plan is too large to store here; see `%s`)\n", see)
			whole = whole[:most-maxChunk/2]
			whole = append(whole[:bytes.LastIndexByte(whole, '\n')+1:len(whole)], note...)
		}
		return whole, splitText(whole)
	}
	whole = data
	packed := pack(whole)
	if len(whole) == 0 || len(packed) > maxChunks*maxChunk {
		whole, _ = json.Marshal(map[string]string{"message": fmt.Sprintf("The plan is too large to store here; see `%s`", see)}) //nolint:errcheck // texts always are JSON
		packed = pack(whole)
	}
	return whole, slices.Collect(slices.Chunk(packed, maxChunk))
}

// splitText splits between characters: a ConfigMap holds text, and half a character is none.
func splitText(text []byte) [][]byte {
	chunks := [][]byte{}
	for len(text) > maxChunk {
		end := maxChunk
		for !utf8.RuneStart(text[end]) {
			end--
		}
		chunks, text = append(chunks, text[:end]), text[end:]
	}
	return append(chunks, text)
}

func pack(data []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(data) //nolint:errcheck // to memory
	w.Close()     //nolint:errcheck // to memory
	return packed.Bytes()
}

// foreignPlanError says that the place of a readable plan is taken.
type foreignPlanError struct{ kind, namespace, name string }

func (e *foreignPlanError) Error() string {
	return fmt.Sprintf("store the readable plan in %s %s/%s: it exists and belongs to something else. Nothing was overwritten. Delete or rename it, then request a new plan",
		e.kind, e.namespace, e.name)
}

// putReadable makes one object what it should be.
func (r *Reconciler) putReadable(ctx context.Context, obj *infrav1.Terraform, want client.Object) error {
	err := r.Client.Create(ctx, want)
	if err == nil {
		return nil
	}
	kind := kindOf(want)
	failed := func(err error) error {
		return fmt.Errorf("store the readable plan in %s %s/%s: %w", kind, want.GetNamespace(), want.GetName(), err)
	}
	if !apierrors.IsAlreadyExists(err) {
		return failed(err)
	}
	is := want.DeepCopyObject().(client.Object)
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(want), is); err != nil {
		return failed(err)
	}
	if !ownedBy(is, obj) {
		return &foreignPlanError{kind, want.GetNamespace(), want.GetName()}
	}
	want.SetResourceVersion(is.GetResourceVersion())
	if err := r.Client.Update(ctx, want); err != nil {
		return failed(err)
	}
	return nil
}

func kindOf(o client.Object) string {
	if _, ok := o.(*corev1.Secret); ok {
		return "Secret"
	}
	return "ConfigMap"
}

func ownedBy(o metav1.Object, obj *infrav1.Terraform) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == obj.UID })
}

// dropReadable deletes the objects of a form that the stack owns, but for those to keep: other pieces, and those of
// another workspace.
func (r *Reconciler) dropReadable(ctx context.Context, obj *infrav1.Terraform, form string, keep []client.Object) error {
	kind := "ConfigMap"
	if form == readableJSON {
		kind = "Secret"
	}
	return r.dropPlans(ctx, obj, kind, planName(obj, form), keep)
}

// dropPlans deletes objects by the label that every stored plan has.
func (r *Reconciler) dropPlans(ctx context.Context, obj *infrav1.Terraform, kind, name string, keep []client.Object) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
	if err := r.Reader.List(ctx, list, client.InNamespace(obj.Namespace), client.MatchingLabels{labelPlanName: labelValue(name)}); err != nil {
		return fmt.Errorf("look for the readable plans of %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	for i := range list.Items {
		item := &list.Items[i]
		kept := slices.ContainsFunc(keep, func(o client.Object) bool { return o.GetName() == item.Name })
		if kept || !ownedBy(item, obj) || !strings.HasPrefix(item.Name, "tfplan-") {
			continue
		}
		item.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		if err := r.Client.Delete(ctx, item, client.Preconditions{UID: &item.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the readable plan %s/%s: %w", item.Namespace, item.Name, err)
		}
	}
	return nil
}

// deletePlans deletes every stored plan of a stack, those that tofu-controller left among them.
func (r *Reconciler) deletePlans(ctx context.Context, obj *infrav1.Terraform) error {
	return errors.Join(
		r.dropPlans(ctx, obj, "ConfigMap", obj.Name, nil),
		r.dropPlans(ctx, obj, "Secret", planName(obj, readableJSON), nil),
		r.dropPlans(ctx, obj, "Secret", obj.Name, nil))
}
