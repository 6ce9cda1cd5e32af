// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

// Text renders one text with the marks of documents, ${{ and }}. field is its position, for
// messages.
func Text(field, text string, data map[string]any) (string, error) {
	d := &document{renderer: renderer{budget: newBudget(), left: documentLeft}, data: data}
	out, failed := d.text(text, field)
	if failed != nil {
		return "", failed
	}
	return out, nil
}
