// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuba-dev/yuba/internal/kit/brief"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Class says who has to do something about an error. Its text can be the reason of a condition.
type Class string

const (
	// Unreachable: nobody answers, or not as a database does. It may be over by the next reading.
	Unreachable Class = "Unreachable"
	// AccessDenied: the user, the password or a certificate is not accepted, or may not read the table.
	AccessDenied Class = "AccessDenied"
	// NotFound: there is no such database, table, column, file or key.
	NotFound Class = "NotFound"
	// TooMuch: the rows are more than a reading may have, or take longer.
	TooMuch Class = "TooMuch"
	// Invalid: what the registry says about its source cannot be, or what is there is no list of rows.
	Invalid Class = "Invalid"
	// Failed: everything else.
	Failed Class = "Failed"
)

// Error says why there are no rows.
type Error struct {
	Class Class
	// Doing is what was attempted, and on what; Why is what came of it; Then is what to do about it, if anything is known.
	Doing, Why, Then string
	// cause is a context's error. Others are not kept: they may quote what only the server should see.
	cause error
}

func (e *Error) Error() string {
	text := e.Doing + ": " + e.Why
	if e.Then != "" {
		text += ". " + e.Then
	}
	return text
}

func (e *Error) Unwrap() error { return e.cause }

// ClassOf returns the class of an error of this package; of any other one it is [Failed].
func ClassOf(err error) Class {
	var known *Error
	if errors.As(err, &known) {
		return known.Class
	}
	return Failed
}

func tooManyRows(limits Limits) *Error {
	return &Error{Class: TooMuch, Why: fmt.Sprintf("there are more than %d rows", limits.Rows), Then: narrow}
}

func tooManyBytes(limits Limits) *Error {
	return &Error{Class: TooMuch, Why: fmt.Sprintf("there are more than %d MiB", limits.Bytes>>20), Then: narrow}
}

func tooLong(limits Limits) *Error {
	return &Error{Class: TooMuch, Why: fmt.Sprintf("it was not over within %s", limits.Time), Then: narrow}
}

const narrow = "Conditions in spec.source.where, or a view, can leave rows out"

// finish turns the error of a reading into what users see. The reading's own context has the deadline of its limits.
func finish(outer, own context.Context, err error, doing string, limits Limits, explain func(error) *Error) *Error {
	var known *Error
	errors.As(err, &known)
	// Whoever hangs up because the time is over finds the connection broken.
	open := known == nil || known.Class == Unreachable
	switch {
	case open && outer.Err() != nil:
		known = &Error{Class: Failed, Why: "it was stopped", cause: outer.Err()}
	case open && own.Err() != nil:
		known = tooLong(limits)
	case known == nil:
		known = explain(err)
	}
	if known.Doing == "" {
		known.Doing = doing
	}
	return known
}

// unreachable is for errors of networks. They quote what came, so that they are told in words of our own.
func unreachable(err error) *Error {
	return &Error{Class: Unreachable, Why: outbound.Explain(err)}
}

// said is what a database says about a statement, in one line that is not too long.
func said(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimRight(brief.Cut(text, 300), ". ")
}

// quoted is a name as messages have it.
func quoted(name string) string { return fmt.Sprintf("%q", said(name)) }
