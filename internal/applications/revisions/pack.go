// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

const (
	// maxAnnotations bounds all that is kept: the API allows 256 KiB for all annotations of an object.
	maxAnnotations = 240 << 10
	// maxAccepted bounds the accepted spec. Of a larger one, only the digest is kept.
	maxAccepted = 200 << 10
	// maxUnpacked bounds what is read: a definition has at most 1.5 MiB in the API.
	maxUnpacked = 16 << 20
)

// Content is the part of a definition that instances depend on.
func Content(d *appv1.ApplicationDefinition) *appv1.ApplicationDefinition {
	kept := &appv1.ApplicationDefinition{Spec: *d.Spec.DeepCopy()}
	kept.Annotations, kept.Spec.Dashboard, kept.Spec.Rollout, kept.Spec.AggregateTo = helmAnnotations(d), nil, nil, ""
	return kept
}

// HelmAnnotations are the names of the annotations of a definition that say something about its objects.
var HelmAnnotations = []string{appv1.AnnotationInstallTimeout, appv1.AnnotationUpgradeTimeout, appv1.AnnotationInstallDisableWait}

func helmAnnotations(d *appv1.ApplicationDefinition) map[string]string {
	some := map[string]string{}
	for _, key := range HelmAnnotations {
		if value, ok := d.Annotations[key]; ok {
			some[key] = value
		}
	}
	return some
}

// Accepted is the content of a definition as it is kept; empty if it is too large.
func Accepted(d *appv1.ApplicationDefinition) string {
	if text := pack(Content(d)); len(text) <= maxAccepted {
		return text
	}
	return ""
}

// Digest is a digest of the content of a definition; empty if it has no JSON form.
func Digest(d *appv1.ApplicationDefinition) string {
	content, err := json.Marshal(Content(d))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

// pack makes a text of a value; empty if it has no JSON form.
func pack(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil || w.Close() != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

// unpack reads what pack wrote, and reports whether it could.
func unpack(text string, into any) bool {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed) == 0 {
		return false
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	content, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
	return err == nil && json.Unmarshal(content, into) == nil
}
