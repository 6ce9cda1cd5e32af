// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// Error says which resource cannot be rendered, and why. It contains no values except names of
// objects and namespaces.
type Error struct {
	// ID is the resource's id; empty for the whole tenant.
	ID string
	// Where is the field, as in deployments[app].spec.metadata.name, with the line if there are
	// several.
	Where  string
	Reason string
	// Data: other values of the row may fix it.
	Data bool
}

// Error returns "deployments[app].nameTemplate: .x has no value".
func (e Error) Error() string {
	if e.Where == "" {
		return e.Reason
	}
	return e.Where + ": " + e.Reason
}

// Errors are the errors of one tenant.
type Errors []Error

// told is the number of errors in a message.
const told = 5

// Error returns the first errors, and the number of the others.
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

// Unwrap returns all errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// failed is the error of a resource's template.
func failed(id, where string, err error) Error {
	var wrong *template.Error
	if errors.As(err, &wrong) {
		return Error{ID: id, Where: wrong.Where, Reason: wrong.Reason, Data: wrong.Data}
	}
	return Error{ID: id, Where: where, Reason: err.Error()}
}
