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

// maxCopied limits the copy operations of one JSON patch, as in the API server.
const maxCopied = 3 << 20

// The library's limit is a global variable; the default is none.
func init() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// Run builds a directory in this process. It cannot be interrupted. Trees with schemas must not be
// built concurrently: kustomize stores schemas in global variables.
func Run(tree filesys.FileSystem, dir string) (objects []*Object, err error) {
	defer func() {
		// kustomize panics on unexpected input.
		if r := recover(); r != nil {
			objects, err = nil, errors.New("kustomize cannot process an object")
		}
	}()
	built, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: kustypes.LoadRestrictionsNone,
		PluginConfig:     kustypes.DisabledPluginConfig(),
	}).Run(tree, dir)
	if err != nil {
		return nil, err
	}
	for _, r := range built.Resources() {
		objects = append(objects, ObjectOf(r))
	}
	return objects, nil
}

// Object is an object of a build.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// ID identifies it in its build: kind, namespace and name, as kustomize compares them.
	ID string `json:"id,omitempty"`
	// JSON is the object; empty if it cannot be written as JSON because it contains a key twice.
	JSON []byte `json:"json,omitempty"`
}

// ObjectOf returns the object of a resource.
func ObjectOf(r *resource.Resource) *Object {
	id := r.CurId()
	o := &Object{APIVersion: r.GetApiVersion(), Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName(),
		ID: strings.Join([]string{id.Gvk.String(), id.EffectiveNamespace(), id.Name}, "|")}
	if data, err := r.MarshalJSON(); err == nil {
		o.JSON = data
	}
	return o
}

// String returns the object's name for messages.
func (o *Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// ReadOnly is a file system that cannot be changed. kustomize reads it with ReadFile only.
type ReadOnly struct{ filesys.FileSystem }

var errReadOnly = errors.New("the tree is read only")

// Open is not needed: kustomize reads whole files.
func (ReadOnly) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Create refuses to write.
func (ReadOnly) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir refuses to write.
func (ReadOnly) Mkdir(string) error { return errReadOnly }

// MkdirAll refuses to write.
func (ReadOnly) MkdirAll(string) error { return errReadOnly }

// RemoveAll refuses to write.
func (ReadOnly) RemoveAll(string) error { return errReadOnly }

// WriteFile refuses to write.
func (ReadOnly) WriteFile(string, []byte) error { return errReadOnly }
