// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// stamp says from what an object was written. It is in the object, so that the two change together, but
// not in the digest: a new revision that makes the same object does not write it.
type stamp struct {
	// revision is that of the definition; 0 if it is not known.
	revision int64
	// generation is that of the instance; 0 if it is not known.
	generation int64
	// since is when the last change of the definition reached the object while it was ready; zero for
	// never.
	since time.Time
	// spec is the digest of the spec from which one of several objects was made; empty for others.
	spec string
}

// String is the text of the annotation: REVISION/GENERATION/SINCE/SPEC, without the last ones
// that are empty.
func (s stamp) String() string {
	text := fmt.Sprintf("%d/%d", s.revision, s.generation)
	if !s.since.IsZero() {
		text += "/" + s.since.UTC().Format(time.RFC3339)
	}
	if s.spec != "" {
		text += strings.Repeat("/", 3-strings.Count(text, "/")) + s.spec
	}
	return text
}

// stampOf reads the stamp of an object. An annotation that is not one is none.
func stampOf(o metav1.Object) (s stamp) {
	parts := strings.SplitN(o.GetAnnotations()[appv1.AnnotationStamp], "/", 4)
	if len(parts) < 2 {
		return s
	}
	revision, err := strconv.ParseInt(parts[0], 10, 64)
	generation, err2 := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || err2 != nil || revision < 1 || generation < 1 {
		return stamp{}
	}
	s.revision, s.generation = revision, generation
	if len(parts) > 3 {
		s.spec = parts[3]
	}
	if len(parts) > 2 && (parts[2] != "" || len(parts) == 3) {
		if s.since, err = time.Parse(time.RFC3339, parts[2]); err != nil {
			return stamp{}
		}
	}
	return s
}

// add adds the stamp to a copy of a manifest.
func (s stamp) add(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	stamped := &unstructured.Unstructured{Object: make(map[string]any, len(manifest.Object))}
	for key, value := range manifest.Object {
		stamped.Object[key] = value
	}
	metadata := map[string]any{}
	old, _ := manifest.Object["metadata"].(map[string]any)
	for key, value := range old {
		metadata[key] = value
	}
	annotations := map[string]any{appv1.AnnotationStamp: s.String()}
	for key, value := range manifest.GetAnnotations() {
		if key != appv1.AnnotationStamp {
			annotations[key] = value
		}
	}
	metadata["annotations"] = annotations
	stamped.Object["metadata"] = metadata
	return stamped
}
