// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const platforms = "yuba.dev_platforms.yaml"

func TestExplainHelpsOnPlatforms(t *testing.T) {
	d := load(t, platforms)
	walk("", *d.version.Schema.OpenAPIV3Schema, func(path string, props apiextensionsv1.JSONSchemaProps) {
		if path == ".metadata" || isKubernetes(path) {
			return
		}
		if len(strings.Fields(props.Description)) < 2 {
			t.Errorf("%s is described as %q", path, props.Description)
		}
	})
}
