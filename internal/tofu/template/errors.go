// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"regexp"
	"strings"
)

// Error describes an error in a template. It shows the template's own text and nothing of the data.
type Error struct {
	// Where is a file with line and column, or a field of the object.
	Where  string
	Reason string
	// Data is true if the template may work with other data.
	Data  bool
	place string
}

// Error returns "main.tf.tpl:3:12: .Values.x has no value".
func (e *Error) Error() string {
	if e.Where == "" {
		return e.Reason
	}
	return e.Where + ": " + e.Reason
}

// Refuse returns an error of a dialect's function whose reason is shown to people. The reason must
// not contain the function's arguments.
func Refuse(reason string) error { return &refusal{reason} }

// in adds the file to the error.
func (e *Error) in(file string) error {
	e.Where = file
	if e.place != "" {
		e.Where += ":" + e.place
	}
	return e
}

// location matches the beginning of text/template's errors: the template's name, line and column,
// and on execution the failing node.
var location = regexp.MustCompile(`(?s)^template: ` + templateName + `:(\d+(?::\d+)?): (?:executing ".*?" at <(.*?)>: )?(.*)$`)

// parseError keeps the text: it is about the template alone.
func parseError(err error) *Error {
	found := location.FindStringSubmatch(err.Error())
	if found == nil {
		return &Error{Reason: strings.TrimPrefix(err.Error(), "template: ")}
	}
	return &Error{Reason: found[3], place: found[1]}
}

// harmless matches errors of text/template that contain only types and fields.
var harmless = regexp.MustCompile(`^(nil pointer evaluating |can't evaluate field |map has no entry |wrong number of args |` +
	`wrong type for value; expected [^;]+; got [^;]*$|incompatible types for comparison$|template .* not defined$|exceeded maximum template depth)`)

// place matches a path in the data, as templates write it.
var place = regexp.MustCompile(`^\$?(\.\w+)+$`)

// static matches errors that do not depend on data.
var static = regexp.MustCompile(`^(wrong number of args |template .* not defined$)`)

// executionError describes an error of execution. Errors of functions may quote their arguments, so
// only our own are passed on.
func executionError(err error) *Error {
	var refused *refusal
	var composed *failure
	found := location.FindStringSubmatch(err.Error())
	if found == nil {
		found = []string{"", "", "", "it cannot be rendered"}
	}
	e := &Error{place: found[1], Data: true}
	node := strings.NewReplacer(" | "+functionShow+" \"\"", "", functionShow, "", functionTurn, "").Replace(found[2])
	switch {
	case errors.As(err, &composed):
		e.Reason = composed.message
	case errors.As(err, &refused):
		e.Reason = refused.reason
		if name, _, ok := strings.Cut(strings.TrimPrefix(found[3], "error calling "), ":"); ok && absent[name] == refused.reason {
			e.Reason, e.Data = name+" is not available in templates: "+refused.reason, false
		}
	case strings.HasPrefix(found[3], "invalid value; expected "):
		if e.Reason = at(node) + "its argument has no value"; place.MatchString(node) {
			e.Reason = node + " has no value"
		}
	case harmless.MatchString(found[3]):
		e.Reason, e.Data = at(node)+found[3], !static.MatchString(found[3])
	case strings.HasPrefix(found[3], "error calling "):
		name, _, _ := strings.Cut(strings.TrimPrefix(found[3], "error calling "), ":")
		e.Reason = at(node) + "the function " + name + " cannot process this value"
	case strings.HasPrefix(found[3], "range can't iterate over"):
		e.Reason = at(node) + "range can't iterate over this value"
	default:
		e.Reason = at(node) + "it cannot be rendered"
	}
	return e
}

func at(node string) string {
	if node = strings.TrimSpace(node); node == "" {
		return ""
	}
	return "at <" + node + ">: "
}
