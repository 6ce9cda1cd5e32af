// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// file adds a key of a Secret as a file.
func (r *resolver) file(field string, m *infrav1.FileMapping) {
	r.part = PartFiles
	f := File{}
	switch m.Location {
	case infrav1.FileLocationHome:
		f.Location = FileInHome
	case infrav1.FileLocationWorkspace:
		f.Location = FileInModule
	default:
		r.problem(field, Reference{}, "", "location must be home or workspace, not %q", m.Location)
		return
	}
	// As in tofu-controller, an absolute path is relative to the location.
	f.Path = path.Clean(strings.TrimLeft(m.Path, "/"))
	if f.Path == "." || f.Path == ".." || strings.HasPrefix(f.Path, "../") {
		r.problem(field, Reference{}, "", "the path %q does not name a file below the location", m.Path)
		return
	}
	o := r.require(field, kindSecret, m.SecretRef.Name, false)
	if o == nil {
		return
	}
	content, ok := o.data[m.SecretRef.Key]
	if !ok {
		r.problem(field, o.ref, m.SecretRef.Key, "has no key %q", m.SecretRef.Key)
		return
	}
	f.Content = NewValue(string(content))
	r.files = append(r.files, f)
}

// cliConfig reads the tool's configuration file. Its Secret may be in another namespace.
func (r *resolver) cliConfig(ref *corev1.SecretReference) {
	if ref == nil {
		return
	}
	const field, ending = "spec.cliConfigSecretRef", ".tfrc"
	namespace := cmp.Or(ref.Namespace, r.namespace)
	if namespace != r.namespace && !r.crossNamespace {
		r.part = PartAccess
		r.problem(field, Reference{}, "", infrav1.MessageSecretDenied, namespace, ref.Name)
		return
	}
	r.part = PartTool
	o := r.requireIn(field, kindSecret, namespace, ref.Name, false)
	if o == nil {
		return
	}
	for key := range o.data {
		if len(o.data) == 1 && strings.HasSuffix(key, ending) {
			if text, ok := r.text(field, o, key, false); ok {
				r.config = NewValue(text)
			}
			return
		}
	}
	r.problem(field, o.ref, "", "must have exactly one key, whose name ends in %s", ending)
}

// settingsFrom adds the named keys of an object, or all keys, as attributes of the backend's
// configuration. Later objects override earlier ones.
func (r *resolver) settingsFrom(field string, from *infrav1.BackendConfigsReference) {
	r.part = PartBackend
	o := r.require(field, from.Kind, from.Name, from.Optional)
	if o == nil {
		return
	}
	keys := from.Keys
	if len(keys) == 0 {
		keys = o.keys()
	}
	for _, key := range keys {
		if !hclsyntax.ValidIdentifier(key) {
			r.problem(field, o.ref, key, "key %q is not a valid name of a setting; list the keys to use in %s", key, field+".keys")
			continue
		}
		if text, ok := r.text(field, o, key, from.Optional); ok {
			r.settings[key] = Setting{Name: key, Value: NewValue(text), Secret: from.Kind == kindSecret && !o.isOpen(key)}
		}
	}
}

// quoteHCL quotes a text as an HCL literal.
func quoteHCL(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}
