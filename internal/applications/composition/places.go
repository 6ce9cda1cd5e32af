// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups and kinds that a composition may make.
const (
	stackGroup, stackKind     = "infra.contrib.fluxcd.io", "Terraform"
	releaseGroup, releaseKind = "helm.toolkit.fluxcd.io", "HelmRelease"
	// AppsGroup is the group of application kinds.
	AppsGroup = "apps.cozystack.io"

	kindSecret, kindConfigMap  = "Secret", "ConfigMap"
	fieldData, fieldStringData = "data", "stringData"
)

var secrets = schema.GroupKind{Kind: kindSecret}

// place is where expressions are allowed: the names that lead there. "*" is any one name or element,
// and "**" everything below. What is not text takes a value of any type.
type place struct {
	path []string
	text bool
}

// common are the places of all kinds.
var common = []place{{[]string{"metadata", "labels", "*"}, true}, {[]string{"metadata", "annotations", "*"}, true}}

// places are those of the kinds that a composition may make. All of them are data: nothing there
// decides what runs, where, or as whom. Names of sources are those of the instance's objects only.
var places = map[schema.GroupKind][]place{
	{Group: stackGroup, Kind: stackKind}: {
		{[]string{"spec", "vars", "*", "value", "**"}, false}, {[]string{"spec", "varsFrom", "*", "name"}, true}, {[]string{"spec", "env", "*", "value"}, true},
	},
	{Group: releaseGroup, Kind: releaseKind}: {{[]string{"spec", "values", "**"}, false}, {[]string{"spec", "valuesFrom", "*", "name"}, true}},
	{Kind: kindConfigMap}:                    {{[]string{"data", "*"}, true}},
	{Kind: kindSecret}:                       {{[]string{fieldStringData, "*"}, true}},
}

// ofApps are the places of application kinds.
var ofApps = []place{{[]string{"spec", "**"}, false}}

// fields are the fields of an object besides apiVersion, kind and metadata.
var fields = map[schema.GroupKind][]string{
	{Kind: kindConfigMap}: {"data", "binaryData", "immutable"}, {Kind: kindSecret}: {fieldData, fieldStringData, "type", "immutable"},
}

// placesOf are the places of a kind; ok is false if a composition must not make it.
func placesOf(kind schema.GroupKind) (list []place, ok bool) {
	if kind.Group == AppsGroup && kind.Kind != "" {
		return append(slices.Clone(ofApps), common...), true
	}
	list, ok = places[kind]
	return append(slices.Clone(list), common...), ok
}

// find finds the place of a path.
func find(list []place, path []string) (p place, ok bool) {
	for _, p := range list {
		if matches(p.path, path) {
			return p, true
		}
	}
	return place{}, false
}

func matches(pattern, path []string) bool {
	for i, name := range pattern {
		switch {
		case name == "**":
			return true
		case i >= len(path) || name != "*" && name != path[i]:
			return false
		}
	}
	return len(pattern) == len(path)
}

// list names places for people.
func list(all []place) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = strings.TrimSuffix(strings.Join(p.path, "."), ".**")
	}
	return strings.Join(texts, ", ")
}
