// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
)

const (
	// maxAccepted bounds the accepted spec in an annotation: the API allows 256 KiB for all. A larger
	// one is remembered only while the server runs.
	maxAccepted = 200 << 10
	// maxUnpacked bounds what is read of it: a definition has at most 1.5 MiB in the API.
	maxUnpacked = 4 << 20
)

// acceptance is the spec of a definition and its generation, as it is kept; empty if it is too large.
func acceptance(d *appv1.ApplicationDefinition) string {
	kept := appv1.ApplicationDefinition{Spec: *d.Spec.DeepCopy()}
	// Icons are large, and instances do not depend on them, nor on who may use the kind.
	kept.Annotations, kept.Spec.Dashboard, kept.Spec.AggregateTo = helmAnnotations(d), nil, ""
	content, err := json.Marshal(&kept)
	if err != nil {
		return ""
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil || w.Close() != nil {
		return ""
	}
	if text := base64.StdEncoding.EncodeToString(packed.Bytes()); len(text) <= maxAccepted {
		return text
	}
	return ""
}

// helmAnnotations are the annotations of a definition that say something about its objects.
func helmAnnotations(d *appv1.ApplicationDefinition) map[string]string {
	some := map[string]string{}
	for _, key := range []string{appv1.AnnotationInstallTimeout, appv1.AnnotationUpgradeTimeout, appv1.AnnotationInstallDisableWait} {
		if value, ok := d.Annotations[key]; ok {
			some[key] = value
		}
	}
	return some
}

// accept keeps the spec of a definition with its kind.
func accept(crd *apiextensionsv1.CustomResourceDefinition, d *appv1.ApplicationDefinition) {
	if text := acceptance(d); text != "" {
		crd.Annotations[appv1.AnnotationAccepted] = text
	}
}

// accepted is the definition that was accepted last for a kind; nil if it is not known.
func accepted(crd *apiextensionsv1.CustomResourceDefinition, d *appv1.ApplicationDefinition) *definition.Definition {
	packed, err := base64.StdEncoding.DecodeString(crd.Annotations[appv1.AnnotationAccepted])
	if err != nil || len(packed) == 0 {
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
	if err != nil {
		return nil
	}
	var kept appv1.ApplicationDefinition
	if json.Unmarshal(content, &kept) != nil {
		return nil
	}
	kept.Name = d.Name
	parsed, _ := definition.Parse(&kept)
	return parsed
}
