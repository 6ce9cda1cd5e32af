// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// templateIn finds a template in a file, and its registry, if the file has it. A file with one
// template needs no name. Objects without a namespace get the given one.
func templateIn(console *ui.Console, file, namespace, name string) (*tenantv1.TenantTemplate, *tenantv1.TenantRegistry, error) {
	if in, bare, both := strings.Cut(name, "/"); both {
		namespace, name = in, bare
	}
	data, err := console.ReadFile(file, maxTemplates)
	if err != nil {
		return nil, nil, fmt.Errorf("read the template: %w", err)
	}
	in, err := tenantKindsIn(file, data)
	if err != nil {
		return nil, nil, err
	}
	var found *tenantv1.TenantTemplate
	var names []string
	for _, t := range in.templates {
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
		return nil, nil, ui.Exitf(ui.ExitNotFound, "%s %s", file, what)
	case len(names) > 1:
		return nil, nil, ui.Exitf(ui.ExitUsage, "%s has several templates: %s; name one of them", file, strings.Join(names, ", "))
	}
	found.Namespace = cmp.Or(found.Namespace, namespace, metav1.NamespaceDefault)
	found.Status = tenantv1.TenantTemplateStatus{} // the file's status is outdated
	for _, r := range in.registries {
		if r.Name == found.Spec.RegistryID && cmp.Or(r.Namespace, found.Namespace) == found.Namespace {
			return found, r, nil
		}
	}
	return found, nil, nil
}

// maxTemplates exceeds the size of objects that an API accepts.
const maxTemplates = 64 << 20

type tenantKinds struct {
	file       string
	templates  []*tenantv1.TenantTemplate
	registries []*tenantv1.TenantRegistry
}

// tenantKindsIn reads the templates and registries of a file, and ignores other objects.
func tenantKindsIn(file string, data []byte) (*tenantKinds, error) {
	found := &tenantKinds{file: file}
	decoder := k8syaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)+1)
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if len(raw.Raw) == 0 {
			continue
		}
		if err := found.add(raw.Raw); err != nil {
			return nil, err
		}
	}
}

// add reads one object, or a list of "kubectl get -o yaml".
func (k *tenantKinds) add(raw []byte) error {
	var head struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Items             []json.RawMessage `json:"items"`
	}
	if err := yaml.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("read %s: %w", k.file, err)
	}
	if strings.HasSuffix(head.Kind, "List") {
		for _, item := range head.Items {
			if err := k.add(item); err != nil {
				return err
			}
		}
		return nil
	}
	if head.GroupVersionKind().Group != tenantv1.GroupVersion.Group {
		return nil
	}
	var into any
	switch head.Kind {
	case tenantv1.TenantTemplateKind:
		t := &tenantv1.TenantTemplate{}
		k.templates, into = append(k.templates, t), t
	case tenantv1.TenantRegistryKind:
		r := &tenantv1.TenantRegistry{}
		k.registries, into = append(k.registries, r), r
	default:
		return nil
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		return fmt.Errorf("read %s %s of %s: %w", head.Kind, head.Name, k.file, err)
	}
	return nil
}
