// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// Freeze is the merge patch that suspends and marks an active object at the source; nil if it is
// frozen by this move already. If somebody has resumed it meanwhile, its mark keeps the former values.
func Freeze(k Kind, o *unstructured.Unstructured, mark moving.Mark) []byte {
	if Frozen(k, o, mark.Move) {
		return nil
	}
	mark.Generation = o.GetGeneration()
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion()}}
	spec, _, _ := unstructured.NestedMap(o.Object, "spec") //nolint:errcheck // without a spec all fields are unset
	if len(k.Freeze) > 0 {
		mark.Before = beforeOf(spec, k.Freeze)
		patch["spec"] = maps.Clone(k.Freeze)
	}
	if m, ok := moving.MovedTo(o); ok && m.Move == mark.Move {
		mark = m
	}
	patch["metadata"].(map[string]any)["annotations"] = map[string]any{moving.AnnotationMoved: mark.Text()}
	return encode(patch)
}

// Frozen reports whether an active object at the source has the mark of a move, and is suspended.
func Frozen(k Kind, o *unstructured.Unstructured, move string) bool {
	if m, ok := moving.MovedTo(o); !ok || m.Move != move {
		return false
	}
	spec, _, _ := unstructured.NestedMap(o.Object, "spec") //nolint:errcheck // without a spec all fields are unset
	for name, value := range k.Freeze {
		// Older versions of Flux do not know deletionPolicy; there, prune: false is enough.
		if is, ok := spec[name]; (ok || name != deletionPolicy) && !covers(is, value) {
			return false
		}
	}
	return true
}

// Release is the merge patch that removes a mark and restores the fields that it changed.
func Release(annotation string, o *unstructured.Unstructured, mark moving.Mark) []byte {
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(), "annotations": map[string]any{annotation: nil}}}
	if len(mark.Before) > 0 {
		patch["spec"] = mark.Before // null removes a field
	}
	return encode(patch)
}

func encode(patch map[string]any) []byte {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(fmt.Sprintf("encode a patch: %v. This is a bug in Yuba.", err))
	}
	return data
}

// Resumes reports whether releasing an arriving object changes its spec, and so its generation.
func Resumes(o *unstructured.Unstructured) bool {
	m, ok := moving.ArrivingFrom(o)
	spec, _, _ := unstructured.NestedMap(o.Object, "spec") //nolint:errcheck // without a spec all fields are unset
	for name, value := range m.Before {
		if ok && !covers(spec[name], value) {
			return true
		}
	}
	return false
}

// Status is the status to write at the target, for the live object there; nil without one. UIDs in
// it are those of the target, and observed generations that were current stay current.
func Status(k Kind, source, live *unstructured.Unstructured, uids UIDs) map[string]any {
	status, ok := source.Object["status"].(map[string]any)
	if !ok || !k.Status || len(status) == 0 {
		return nil
	}
	status = mapTexts(runtime.DeepCopyJSON(status), uids).(map[string]any) //nolint:errcheck // a map stays one
	was := source.GetGeneration()
	if m, ok := moving.MovedTo(source); ok && m.Generation > 0 {
		was = m.Generation
	}
	now := live.GetGeneration()
	current := func(m map[string]any, to int64) {
		if about, ok := m["observedGeneration"].(int64); ok && about > 0 {
			m["observedGeneration"] = to - min(max(was-about, 0), to)
		}
	}
	current(status, now)
	conditions, _ := status["conditions"].([]any) //nolint:errcheck // none
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			current(c, now)
		}
	}
	switch k.GK {
	case Stacks.GK:
		stackStatus(status, source, live, was)
	case Claims.GK:
		claimStatus(status, source, live)
	}
	return status
}

// stackStatus adapts what only stacks have.
func stackStatus(status map[string]any, source, live *unstructured.Unstructured, was int64) {
	// No run is in progress at the source any more.
	delete(status, "currentRun")
	if status["originUID"] == nil {
		status["originUID"] = string(source.GetUID())
	}
	if status["originUID"] == string(live.GetUID()) { // back at its first home
		delete(status, "originUID")
	}
	// The resumed stack has another generation, and a plan of an older one looks stale.
	next := live.GetGeneration()
	if Resumes(live) {
		next++
	}
	if planned, ok := status["lastPlannedGeneration"].(int64); ok && planned > 0 {
		if planned >= was {
			status["lastPlannedGeneration"] = next
		} else {
			status["lastPlannedGeneration"] = max(next-1, 0)
		}
	}
}

// mapTexts replaces UIDs in all texts.
func mapTexts(value any, uids UIDs) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = mapTexts(inner, uids)
		}
	case []any:
		for i, inner := range v {
			v[i] = mapTexts(inner, uids)
		}
	case string:
		return uids.In(v)
	}
	return value
}
