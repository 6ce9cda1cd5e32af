// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

// WriteObjects writes objects for kubectl: YAML documents, or a JSON list.
func (c *Console) WriteObjects(objects []*unstructured.Unstructured, form string) error {
	if form == "json" {
		items := make([]any, 0, len(objects))
		for _, u := range objects {
			items = append(items, u.Object)
		}
		return (&Output{Form: "json"}).Print(c.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	for i, u := range objects {
		data, err := yamltext.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		if i > 0 {
			fmt.Fprintln(c.Out, "---")
		}
		if _, err := c.Out.Write(data); err != nil {
			return fmt.Errorf("write the objects: %w", err)
		}
	}
	return nil
}
