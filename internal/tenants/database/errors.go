// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/yuba-dev/yuba/internal/kit/outbound"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Class says who must act on an error. Its text can be the reason of a condition.
type Class string

const (
	// Unreachable: no response, or not one of a database. The next reading may succeed.
	Unreachable Class = "Unreachable"
	// AccessDenied: the user, the password or a certificate is refused, or may not read the table.
	AccessDenied Class = "AccessDenied"
	// NotFound: the database, table, column, file or key does not exist.
	NotFound Class = "NotFound"
	// TooMuch: the rows exceed a limit of size or time.
	TooMuch Class = "TooMuch"
	// Invalid: the source's settings are invalid, or its content is not a list of rows.
	Invalid Class = "Invalid"
	// Failed: everything else.
	Failed Class = "Failed"
)

// Error says why a reading failed.
type Error struct {
	Class Class
	// Doing is what was attempted, and on what; Why is the reason; Then is what to do about it, if
	// known.
	Doing, Why, Then string
	// cause is a context's error. Others are dropped: they may quote confidential data.
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

// ClassOf returns the class of an error of this package; else [Failed].
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
	return &Error{Class: TooMuch, Why: fmt.Sprintf("it took longer than %s", limits.Time), Then: narrow}
}

const narrow = "Exclude rows with conditions in spec.source.where, or with a view"

// finish turns the error of a reading into one for users. own is the reading's context with the
// deadline of its limits.
func finish(outer, own context.Context, err error, doing string, limits Limits, explain func(error) *Error) *Error {
	var known *Error
	errors.As(err, &known)
	// When the deadline closes a connection, the error is a broken connection.
	open := known == nil || known.Class == Unreachable
	switch {
	case open && outer.Err() != nil:
		known = &Error{Class: Failed, Why: "it was cancelled", cause: outer.Err()}
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

// unreachable describes network errors in our own words, because they quote received data.
func unreachable(err error) *Error {
	return &Error{Class: Unreachable, Why: outbound.Explain(err)}
}

// said shortens a database's message to one line.
func said(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimRight(shorten.Cut(text, 300), ". ")
}

// quoted quotes a name for messages.
func quoted(name string) string { return fmt.Sprintf("%q", said(name)) }
