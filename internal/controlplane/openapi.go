// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
)

// describedBy are where the types come from that the served kinds are made of.
var describedBy = []string{
	"io.k8s.api.admissionregistration.",
	"io.k8s.api.authentication.",
	"io.k8s.api.authorization.",
	"io.k8s.api.coordination.",
	"io.k8s.api.core.",
	"io.k8s.api.events.",
	"io.k8s.api.rbac.",
	"io.k8s.apiextensions-apiserver.",
	"io.k8s.apimachinery.",
	"io.k8s.kube-aggregator.",
}

// definitions describes the types of the served kinds. Kubernetes' complete list describes a thousand more, which the API
// server would keep in memory.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := generatedopenapi.GetOpenAPIDefinitions(ref)
	for name := range all {
		if !isDescribed(name) {
			delete(all, name)
		}
	}
	return all
}

func isDescribed(name string) bool {
	for _, prefix := range describedBy {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
