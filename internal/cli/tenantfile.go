// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

// templateIn finds a template in a file, and its registry when the file has that as well. A file with one template needs no
// name. What has no namespace is of the one that is asked for.
func templateIn(file string, stdin io.Reader, namespace, name string) (*tenantv1.TenantTemplate, *tenantv1.TenantRegistry, error) {
	if in, bare, both := strings.Cut(name, "/"); both {
		namespace, name = in, bare
	}
	data, err := readTemplates(file, stdin)
	if err != nil {
		return nil, nil, fmt.Errorf("read the template: %w", err)
	}
	templates, registries, err := tenantKindsIn(file, data)
	if err != nil {
		return nil, nil, err
	}
	var found *tenantv1.TenantTemplate
	var names []string
	for _, t := range templates {
		if name != "" && (t.Name != name || namespace != "" && t.Namespace != "" && t.Namespace != namespace) {
			continue
		}
		found, names = t, append(names, t.Name)
	}
	switch {
	case len(names) == 0:
		what := "has no TenantTemplate"
		if name != "" {
			what += " " + strings.TrimPrefix(namespace+"/"+name, "/")
		}
		return nil, nil, exitf(exitNotFound, "%s %s", file, what)
	case len(names) > 1:
		return nil, nil, exitf(exitUsage, "%s has several templates: %s; name the one that is meant", file, strings.Join(names, ", "))
	}
	found.Namespace = cmp.Or(found.Namespace, namespace, metav1.NamespaceDefault)
	for _, r := range registries {
		if r.Name == found.Spec.RegistryID && cmp.Or(r.Namespace, found.Namespace) == found.Namespace {
			return found, r, nil
		}
	}
	return found, nil, nil
}

// maxTemplates bounds what is read of a file: no API takes objects that are as large.
const maxTemplates = 64 << 20

// readTemplates reads a file, or standard input for "-".
func readTemplates(file string, stdin io.Reader) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxTemplates+1))
	if err == nil && len(data) > maxTemplates {
		err = fmt.Errorf("%s is larger than %d MiB", file, maxTemplates>>20)
	}
	return data, err
}

// tenantKindsIn reads the templates and registries of a file, whatever else it has.
func tenantKindsIn(file string, data []byte) (templates []*tenantv1.TenantTemplate, registries []*tenantv1.TenantRegistry, err error) {
	decoder := k8syaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)+1)
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return templates, registries, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", file, err)
		}
		if len(raw.Raw) == 0 {
			continue
		}
		var head struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
		}
		if err := yaml.Unmarshal(raw.Raw, &head); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", file, err)
		}
		if head.GroupVersionKind().Group != tenantv1.GroupVersion.Group {
			continue
		}
		var into any
		switch head.Kind {
		case tenantv1.TenantTemplateKind:
			t := &tenantv1.TenantTemplate{}
			templates, into = append(templates, t), t
		case tenantv1.TenantRegistryKind:
			r := &tenantv1.TenantRegistry{}
			registries, into = append(registries, r), r
		default:
			continue
		}
		if err := yaml.UnmarshalStrict(raw.Raw, into); err != nil {
			return nil, nil, fmt.Errorf("read %s %s of %s: %w", head.Kind, head.Name, file, err)
		}
	}
}
