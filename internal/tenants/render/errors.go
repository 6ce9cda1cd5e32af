// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// Error says which resource cannot be rendered, and why. It shows names of objects and namespaces,
// and no other values.
type Error struct {
	// ID is the resource's. It is empty when the error is the whole tenant's.
	ID string
	// Where is the field, as in deployments[app].spec.metadata.name, and the line of a text that
	// has several.
	Where  string
	Reason string
	// Data tells that with the values of another row it may be well.
	Data bool
}

// Error returns "deployments[app].nameTemplate: .x has no value".
func (e Error) Error() string {
	if e.Where == "" {
		return e.Reason
	}
	return e.Where + ": " + e.Reason
}

// Errors are those of one tenant.
type Errors []Error

// told is how many errors a message has.
const told = 5

// Error returns the first of them, and how many more there are.
func (e Errors) Error() string {
	var all []string
	for i, one := range e {
		if i == told {
			all = append(all, fmt.Sprintf("and %d more", len(e)-told))
			break
		}
		all = append(all, one.Error())
	}
	return strings.Join(all, "; ")
}

// Unwrap returns each of them.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// failed is the error of a template of a resource.
func failed(id, where string, err error) Error {
	var wrong *template.Error
	if errors.As(err, &wrong) {
		return Error{ID: id, Where: wrong.Where, Reason: wrong.Reason, Data: wrong.Data}
	}
	return Error{ID: id, Where: where, Reason: err.Error()}
}
