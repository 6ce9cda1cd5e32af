// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// Annotations store the row in its Tenant, where [Objects] reads it.
func Annotations(r row.Row) map[string]string {
	extra := map[string]string{}
	maps.Copy(extra, r.Extra)
	text, err := json.Marshal(extra)
	if err != nil {
		panic(fmt.Sprintf("encode texts as JSON: %v. This is a bug in Yuba.", err))
	}
	return map[string]string{
		tenantv1.AnnotationHostOrURL: r.HostOrURL, tenantv1.AnnotationActivate: r.Activate, tenantv1.AnnotationExtra: string(text),
	}
}

// values are the variables of templates. Extra mappings take precedence, as published.
func values(r row.Row, registry, template string) map[string]any {
	all := map[string]any{
		"uid": r.SafeUID, "rawUid": r.UID, "hostOrUrl": r.HostOrURL, "host": r.Host, "activate": r.Activate,
		"registryId": registry, "templateRef": template,
	}
	for name, value := range r.Extra {
		all[name] = value
	}
	return all
}

// Variables are the names of the variables of templates.
func Variables(r row.Row) []string { return sorted(values(r, "", "")) }

// Asked are the names of the variables that the templates of a resource use, each once, as far as
// they are known without a row.
func Asked(list tenantv1.List, res *tenantv1.TResource) []string {
	object := res.Spec.Object
	if isStack(kindOf(list, res)) { // a stack's own templates do not use the row
		object = inOwn(object, func(text string) string { return strings.ReplaceAll(text, ownLeft, "") }, nil)
	}
	all := []any{res.NameTemplate, res.TargetNamespace, object}
	for _, texts := range []map[string]string{res.LabelsTemplate, res.AnnotationsTemplate} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			all = append(all, texts[name])
		}
	}
	return dialect(nil).Names(all)
}

// harmless are the functions whose results cannot be arbitrary text.
var harmless = map[string]bool{"hcl": true, "int": true, "float": true, "bool": true, "allocate": true, "int64": true, "float64": true,
	"sha1sum": true, "sha256sum": true, "sha512sum": true, "adler32sum": true, "len": true, "b64enc": true, "b32enc": true}

// Written are the names of the variables that a text contains otherwise than as numbers, booleans,
// hashes or quoted by hcl.
func Written(text string) []string {
	var names []string
	for _, field := range dialect(nil).Fields(text) {
		if field.Written && !harmless[field.By] && !slices.Contains(names, field.Path[0]) {
			names = append(names, field.Path[0])
		}
	}
	return names
}

// RowOf reads the row of a Tenant from its annotations.
func RowOf(tenant *tenantv1.Tenant) (row.Row, error) {
	address := tenant.Annotations[tenantv1.AnnotationHostOrURL]
	r := row.Row{UID: tenant.Spec.UID, SafeUID: row.SafeUID(tenant.Spec.UID), HostOrURL: address, Host: row.Host(address),
		Activate: tenant.Annotations[tenantv1.AnnotationActivate]}
	r.Active = row.Truthy(r.Activate)
	text := tenant.Annotations[tenantv1.AnnotationExtra]
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), &r.Extra); err != nil {
		return r, fmt.Errorf("the annotation %s is not a JSON object of texts; the next sync of the registry replaces it", tenantv1.AnnotationExtra)
	}
	return r, nil
}
