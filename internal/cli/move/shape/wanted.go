// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// UIDs maps UIDs of the source to those of the target.
type UIDs map[string]string

var uidForm = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// In replaces all known UIDs in a text.
func (u UIDs) In(text string) string {
	return uidForm.ReplaceAllStringFunc(text, func(uid string) string {
		if now, ok := u[uid]; ok {
			return now
		}
		return uid
	})
}

// Mentioned returns the UIDs that an object refers to: of owners, and in annotations.
func Mentioned(o *unstructured.Unstructured) []string {
	var all []string
	for _, owner := range o.GetOwnerReferences() {
		all = append(all, string(owner.UID))
	}
	for _, text := range o.GetAnnotations() {
		all = append(all, uidForm.FindAllString(text, -1)...)
	}
	return all
}

// own are the annotations of moves.
var own = []string{moving.AnnotationMoved, moving.AnnotationArriving}

// fresh returns the fields of an object other than metadata and status, as they were before a move
// suspended it.
func fresh(k Kind, o *unstructured.Unstructured) map[string]any {
	fields := map[string]any{}
	for name, value := range o.Object {
		switch name {
		case "metadata", "status", "apiVersion", "kind":
		default:
			fields[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	if k.GK == ServiceAccounts.GK {
		delete(fields, "secrets")
	}
	for _, mark := range marksOf(o) {
		if spec, ok := fields["spec"].(map[string]any); ok {
			restore(spec, mark.Before)
		}
	}
	return fields
}

func marksOf(o *unstructured.Unstructured) []moving.Mark {
	var all []moving.Mark
	if m, ok := moving.MovedTo(o); ok {
		all = append(all, m)
	}
	if m, ok := moving.ArrivingFrom(o); ok {
		all = append(all, m)
	}
	return all
}

func restore(spec, before map[string]any) {
	for name, value := range before {
		if value == nil {
			delete(spec, name)
		} else {
			spec[name] = value
		}
	}
}

func annotationsOf(o *unstructured.Unstructured) map[string]string {
	annotations := maps.Clone(o.GetAnnotations())
	for _, name := range own {
		delete(annotations, name)
	}
	return annotations
}

// Content is what identifies an object across homes.
func Content(k Kind, o *unstructured.Unstructured) map[string]any {
	content := fresh(k, o)
	content["labels"], content["annotations"] = textMap(o.GetLabels()), textMap(annotationsOf(o))
	return content
}

func textMap(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for name, value := range m {
		all[name] = value
	}
	return all
}

// Digest identifies an object's content. Who owns a state is not a part of it: deleting the copy of a
// stack at the source changes nothing else.
func Digest(k Kind, o *unstructured.Unstructured) string {
	content := Content(k, o)
	if annotations, ok := content["annotations"].(map[string]any); ok {
		delete(annotations, state.AnnotationOwners)
		delete(annotations, state.AnnotationDeleted)
	}
	data, err := json.Marshal(content) // sorts the names of fields
	if err != nil {
		panic(fmt.Sprintf("encode an object: %v. This is a bug in Yuba.", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:DigestLength/2])
}

// DigestLength is the number of characters of a digest.
const DigestLength = 32

// Target is what Wanted needs to know about the target.
type Target struct {
	// APIVersion is the version in which the target serves the kind.
	APIVersion string
	UIDs       UIDs
	// Mark is set on active objects.
	Mark moving.Mark
}

// Wanted is the object to write at the target. It returns the owners that do not move, without which
// it is written: the garbage collector would delete it.
func Wanted(k Kind, o *unstructured.Unstructured, t Target) (*unstructured.Unstructured, []string) {
	w := &unstructured.Unstructured{Object: fresh(k, o)}
	w.SetAPIVersion(t.APIVersion)
	w.SetKind(k.GK.Kind)
	w.SetNamespace(o.GetNamespace())
	w.SetName(o.GetName())
	w.SetLabels(o.GetLabels())
	annotations := annotationsOf(o)
	for name, text := range annotations {
		annotations[name] = t.UIDs.In(text)
	}
	owners, gone := ownersOf(o, t.UIDs)
	if len(owners) > 0 {
		w.SetOwnerReferences(owners)
	}
	if k.Active {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[moving.AnnotationArriving] = hold(w, k.Hold, t.Mark).Text()
	}
	if len(annotations) > 0 {
		w.SetAnnotations(annotations)
	}
	return w, gone
}

// Namespace is the namespace to create at the target.
func Namespace(o *unstructured.Unstructured) *unstructured.Unstructured {
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	w.SetName(o.GetName())
	labels := maps.Clone(o.GetLabels())
	delete(labels, "kubernetes.io/metadata.name")
	w.SetLabels(labels)
	w.SetAnnotations(o.GetAnnotations())
	return w
}

func ownersOf(o *unstructured.Unstructured, uids UIDs) (owners []metav1.OwnerReference, gone []string) {
	for _, owner := range o.GetOwnerReferences() {
		uid, ok := uids[string(owner.UID)]
		if !ok {
			gone = append(gone, owner.Kind+" "+owner.Name)
			continue
		}
		owner.UID = types.UID(uid)
		owners = append(owners, owner)
	}
	return owners, gone
}

// hold sets fields of the spec, and returns the mark with their former values.
func hold(o *unstructured.Unstructured, fields map[string]any, mark moving.Mark) moving.Mark {
	if len(fields) == 0 {
		return mark
	}
	spec, ok := o.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		o.Object["spec"] = spec
	}
	mark.Before = beforeOf(spec, fields)
	maps.Copy(spec, fields)
	return mark
}

func beforeOf(spec, fields map[string]any) map[string]any {
	before := make(map[string]any, len(fields))
	for name := range fields {
		before[name] = spec[name]
	}
	return before
}

// Covers reports whether an object at the target has the content of a wanted one. It may have more
// where the target fills in defaults.
func Covers(k Kind, live, wanted *unstructured.Unstructured) bool {
	for _, owner := range wanted.GetOwnerReferences() {
		if !slices.ContainsFunc(live.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			return false
		}
	}
	is, want := Content(k, live), Content(k, wanted)
	for _, name := range []string{"data", "binaryData", "rules", "subjects", "roleRef", "type"} {
		if !covers(want[name], is[name]) {
			return false
		}
	}
	return covers(is, want)
}

// Dropped returns the fields of the spec that an object lacks, although the wanted one has them.
func Dropped(k Kind, live, wanted *unstructured.Unstructured) []string {
	is, _ := Content(k, live)["spec"].(map[string]any)     //nolint:errcheck // without a spec all are missing
	want, _ := Content(k, wanted)["spec"].(map[string]any) //nolint:errcheck // without a spec none is
	var dropped []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !covers(is[name], want[name]) {
			dropped = append(dropped, "spec."+name)
		}
	}
	return dropped
}

func covers(is, want any) bool {
	switch want := want.(type) {
	case nil:
		return is == nil || isEmpty(is)
	case map[string]any:
		have, ok := is.(map[string]any)
		if !ok {
			return len(want) == 0
		}
		for name, value := range want {
			if !covers(have[name], value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := is.([]any)
		if !ok {
			return len(want) == 0
		}
		return slices.EqualFunc(have, want, covers)
	default:
		return fmt.Sprint(is) == fmt.Sprint(want) || is == nil && isEmpty(want)
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == false || v == "" || fmt.Sprint(v) == "0"
}
