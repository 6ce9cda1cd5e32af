// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"slices"
	"strings"
)

// ownersDomains are the domains of labels by which Yuba, Flux, Helm and others find what is theirs.
var ownersDomains = []string{"yuba.dev", "fluxcd.io", "argoproj.io", "helm.sh", "crossplane.io", "kubernetes-tenants.org", "cozystack.io"}

// ownersLabels are such labels of other domains.
var ownersLabels = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance"}

// freeLabels are the labels that a restored stack gets: those that say what it is, none that says whose it is.
// An owner deletes what has its label and is not wanted any more, with the resources, as soon as it is resumed.
func freeLabels(archived map[string]string) map[string]string {
	free := map[string]string{}
	for key, value := range archived {
		if !owns(key) {
			free[key] = value
		}
	}
	return free
}

func owns(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	for _, of := range ownersDomains {
		if strings.Contains(key, "/") && (domain == of || strings.HasSuffix(domain, "."+of)) {
			return true
		}
	}
	return slices.Contains(ownersLabels, key)
}
