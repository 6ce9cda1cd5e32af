// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// maxCopied is how much the copy operations of one JSON patch may copy, as in the API server.
const maxCopied = 3 << 20

// The limit of the library is a global variable without a limit by default.
func init() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// Run lets kustomize build a directory in this process. It cannot be interrupted, and only one may run at a time where
// trees bring schemas: kustomize keeps those globally.
func Run(tree filesys.FileSystem, dir string) (resources []*resource.Resource, err error) {
	defer func() {
		// What kustomize does not expect makes it panic.
		if r := recover(); r != nil {
			resources, err = nil, errors.New("kustomize cannot make sense of an object")
		}
	}()
	built, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: kustypes.LoadRestrictionsNone,
		PluginConfig:     kustypes.DisabledPluginConfig(),
	}).Run(tree, dir)
	if err != nil {
		return nil, err
	}
	return built.Resources(), nil
}

// Object is what a process made. It answers what a resource of kustomize's answers.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// ID is what tells it from others of the same build.
	ID string `json:"id,omitempty"`
	// JSON is the object, empty when it cannot be written as such.
	JSON []byte `json:"json,omitempty"`
}

// GetApiVersion is the object's apiVersion.
func (o *Object) GetApiVersion() string { return o.APIVersion } //nolint:revive,staticcheck // ST1003: the name that kustomize has for it

// GetKind is the object's kind.
func (o *Object) GetKind() string { return o.Kind }

// GetNamespace is the object's namespace.
func (o *Object) GetNamespace() string { return o.Namespace }

// GetName is the object's name.
func (o *Object) GetName() string { return o.Name }

// MarshalJSON is the object itself.
func (o *Object) MarshalJSON() ([]byte, error) {
	if len(o.JSON) == 0 {
		return nil, errors.New("it cannot be written as JSON")
	}
	return o.JSON, nil
}

// IDOf tells a resource from others of the same build: kind, namespace and name, as kustomize compares them.
func IDOf(r *resource.Resource) string {
	id := r.CurId()
	return strings.Join([]string{id.Gvk.String(), id.EffectiveNamespace(), id.Name}, "|")
}
