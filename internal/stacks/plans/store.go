// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
)

const (
	// maxChunk is the API's limit for the data of a Secret or ConfigMap.
	maxChunk = 1 << 20
	// maxChunks limits a plan's share of the API's database, whose limit all share.
	maxChunks = 16
)

// Labels and annotations that tofu-controller sets on readable plans.
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

// Store keeps the readable plans of stacks.
type Store struct {
	Client client.Client
	// Reader bypasses the cache.
	Reader client.Reader
}

// Put stores a plan in the form that the stack requests, and replaces the previous one.
func (s Store) Put(ctx context.Context, obj *infrav1.Terraform, planID string, data []byte) error {
	form := obj.ReadablePlanForm()
	keep := objects(obj, form, planID, data)
	for _, o := range keep {
		if err := s.put(ctx, obj, o); err != nil {
			return err
		}
	}
	return s.drop(ctx, obj, kindOf(form), planName(obj, form), keep)
}

// Drop deletes the stored plan of a form.
func (s Store) Drop(ctx context.Context, obj *infrav1.Terraform, form string) error {
	return s.drop(ctx, obj, kindOf(form), planName(obj, form), nil)
}

// DropAll deletes every stored plan of a stack, including those of tofu-controller.
func (s Store) DropAll(ctx context.Context, obj *infrav1.Terraform) error {
	return errors.Join(
		s.Drop(ctx, obj, infrav1.ReadablePlanHuman),
		s.Drop(ctx, obj, infrav1.ReadablePlanJSON),
		s.drop(ctx, obj, "Secret", obj.Name, nil))
}

// Refused reports whether the API permanently refuses to store a plan.
func Refused(err error) bool {
	var foreign *foreignError
	return errors.As(err, &foreign) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// planName is the plan's name in the labels of a readable plan.
func planName(obj *infrav1.Terraform, form string) string {
	if form == infrav1.ReadablePlanJSON {
		return obj.Name + ".json"
	}
	return obj.Name
}

// objects returns the Secrets or ConfigMaps of a plan, with tofu-controller's names and labels.
func objects(obj *infrav1.Terraform, form, planID string, data []byte) []client.Object {
	whole, chunks := chunksOf(obj, form, data)
	list := make([]client.Object, 0, len(chunks))
	for i, chunk := range chunks {
		meta := metaOf(obj, form, planID)
		hash := sha256.Sum256(whole)
		if len(chunks) > 1 {
			meta.Name += "-" + strconv.Itoa(i)
			meta.Annotations[annotationPlanChunk] = strconv.Itoa(i)
			hash = sha256.Sum256(chunk)
		}
		meta.Annotations[annotationPlanHash] = fmt.Sprintf("%x", hash)
		if form == infrav1.ReadablePlanJSON {
			meta.Annotations[annotationPlanEncoding] = "gzip"
			list = append(list, &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{planKey: chunk}})
		} else {
			list = append(list, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{planKey: string(chunk)}})
		}
	}
	return list
}

func metaOf(obj *infrav1.Terraform, form, planID string) metav1.ObjectMeta {
	name, workspace := planName(obj, form), obj.WorkspaceName()
	labels := map[string]string{labelPlanName: labelValue(name), labelPlanWorkspace: labelValue(workspace)}
	maps.Copy(labels, scope.Of(obj.Labels).Labels())
	return metav1.ObjectMeta{
		Namespace: obj.Namespace, Name: "tfplan-" + workspace + "-" + name,
		Labels:          labels,
		Annotations:     map[string]string{annotationSavedPlan: planID, annotationPlanName: name, annotationPlanSpace: workspace},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind, Name: obj.Name, UID: obj.UID}},
	}
}

// labelValue shortens a text that is too long for a label, as tofu-controller does.
func labelValue(text string) string {
	const most = 63
	if len(text) <= most {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	mark := fmt.Sprintf("-%x", sum[:8])
	return text[:most-len(mark)] + mark
}

// chunksOf splits a plan for the objects, and also returns it whole and uncompressed. If it is too
// large, a text is cut, and a document replaced with a message.
func chunksOf(obj *infrav1.Terraform, form string, data []byte) (whole []byte, chunks [][]byte) {
	see := fmt.Sprintf("yuba plan %s -n %s", obj.Name, obj.Namespace)
	if form == infrav1.ReadablePlanHuman {
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

// splitText splits between characters: a ConfigMap holds valid text.
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

// foreignError means that an object of another owner has the name of a readable plan.
type foreignError struct{ kind, namespace, name string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("store the readable plan in %s %s/%s: it exists and belongs to something else. Nothing was overwritten. Delete or rename it, then request a new plan",
		e.kind, e.namespace, e.name)
}

// put creates or updates one object of a plan.
func (s Store) put(ctx context.Context, obj *infrav1.Terraform, want client.Object) error {
	err := s.Client.Create(ctx, want)
	if err == nil {
		return nil
	}
	kind := kindOf(obj.ReadablePlanForm())
	failed := func(err error) error {
		return fmt.Errorf("store the readable plan in %s %s/%s: %w", kind, want.GetNamespace(), want.GetName(), err)
	}
	if !apierrors.IsAlreadyExists(err) {
		return failed(err)
	}
	is := want.DeepCopyObject().(client.Object)
	if err := s.Reader.Get(ctx, client.ObjectKeyFromObject(want), is); err != nil {
		return failed(err)
	}
	if !ownedBy(is, obj) {
		return &foreignError{kind, want.GetNamespace(), want.GetName()}
	}
	want.SetResourceVersion(is.GetResourceVersion())
	if err := s.Client.Update(ctx, want); err != nil {
		return failed(err)
	}
	return nil
}

// kindOf returns the kind of the objects for plans of a form.
func kindOf(form string) string {
	if form == infrav1.ReadablePlanJSON {
		return "Secret"
	}
	return "ConfigMap"
}

func ownedBy(o metav1.Object, obj *infrav1.Terraform) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == obj.UID })
}

// drop deletes objects by the label that every stored plan has.
func (s Store) drop(ctx context.Context, obj *infrav1.Terraform, kind, name string, keep []client.Object) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
	if err := s.Reader.List(ctx, list, client.InNamespace(obj.Namespace), client.MatchingLabels{labelPlanName: labelValue(name)}); err != nil {
		return fmt.Errorf("list the readable plans of %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	for i := range list.Items {
		item := &list.Items[i]
		kept := slices.ContainsFunc(keep, func(o client.Object) bool { return o.GetName() == item.Name })
		if kept || !ownedBy(item, obj) || !strings.HasPrefix(item.Name, "tfplan-") {
			continue
		}
		item.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		if err := s.Client.Delete(ctx, item, client.Preconditions{UID: &item.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the readable plan %s/%s: %w", item.Namespace, item.Name, err)
		}
	}
	return nil
}
