// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostSteps limits the depth of rows in a document.
const mostSteps = 20

// parsePath parses a path such as .data.tenants; the document itself is the empty path.
func parsePath(text string) ([]string, error) {
	text = strings.TrimPrefix(text, ".")
	if text == "" {
		return []string{}, nil
	}
	steps := strings.Split(text, ".")
	if len(steps) > mostSteps {
		return nil, fmt.Errorf("the path has more than %d steps", mostSteps)
	}
	for _, step := range steps {
		if step == "" || strings.ContainsAny(step, "[]*$") {
			return nil, errors.New("a path consists of field names with dots, such as .data.tenants")
		}
	}
	return steps, nil
}

// leads reports whether a path is a prefix of another one.
func leads(path, to []string) bool {
	return len(path) <= len(to) && slices.Equal(path, to[:len(path)])
}

// jsonDocument reads a document as a stream: it keeps one row at a time, and the address of the
// next page.
type jsonDocument struct {
	rows, next []string
	take       func(row map[string]json.RawMessage) error

	address string
	found   bool
	count   int
}

func (d *jsonDocument) read(from io.Reader) error {
	bites := &bites{from: from}
	bites.decoder = json.NewDecoder(bites)
	decoder := bites.decoder
	err := d.value(decoder, nil)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = end
			if err == nil {
				err = &Error{Class: Invalid, Why: "there is more text after the JSON document"}
			}
		}
	}
	var known *Error
	var syntax *json.SyntaxError
	switch {
	case err == nil && !d.found:
		return &Error{Class: NotFound, Why: "the document does not have " + d.where()}
	case err == nil, errors.As(err, &known), errors.Is(err, errSpent):
		return err
	case errors.As(err, &syntax):
		// Do not include the error: it quotes the document.
		return &Error{Class: Invalid, Why: fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Class: Unreachable, Why: "the document is incomplete"}
	}
	return err
}

// bites limits the part of a document that the decoder needs at once: a row, or a value beside the
// rows.
type bites struct {
	from    io.Reader
	decoder *json.Decoder
	came    int64
}

func (b *bites) Read(p []byte) (int, error) {
	if b.came-b.decoder.InputOffset() > longestValue {
		return 0, &Error{Class: TooMuch, Why: fmt.Sprintf("a row, or a value beside the rows, has more than %d MiB", longestValue>>20)}
	}
	n, err := b.from.Read(p)
	b.came += int64(n)
	return n, err
}

func (d *jsonDocument) where() string {
	if len(d.rows) == 0 {
		return "list"
	}
	return said("." + strings.Join(d.rows, "."))
}

// value reads the value at a path.
func (d *jsonDocument) value(decoder *json.Decoder, path []string) error {
	onTheWay := leads(path, d.rows) || d.next != nil && leads(path, d.next)
	switch {
	case slices.Equal(path, d.rows):
		if d.found {
			return &Error{Class: Invalid, Why: d.where() + " occurs twice"}
		}
		d.found = true
		return d.list(decoder)
	case d.next != nil && slices.Equal(path, d.next):
		var address *string
		if err := decoder.Decode(&address); err != nil {
			return d.mistyped(err, "the address of the next page is not a string")
		}
		if address != nil {
			d.address = *address
		}
		return nil
	case !onTheWay:
		var passed json.RawMessage
		return decoder.Decode(&passed)
	}
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
	case json.Delim('['):
		return &Error{Class: Invalid, Why: "there is a list in the path to " + d.where()}
	default:
		return nil // a scalar: the path does not exist
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string) // keys are strings, otherwise it was a syntax error
		if err := d.value(decoder, append(slices.Clone(path), text)); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// list reads the rows.
func (d *jsonDocument) list(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('[') {
		return &Error{Class: Invalid, Why: d.named() + " is not a list"}
	}
	for decoder.More() {
		d.count++
		var row map[string]json.RawMessage
		if err := decoder.Decode(&row); err != nil {
			return d.mistyped(err, fmt.Sprintf("row %d is not an object", d.count))
		}
		if row == nil {
			return &Error{Class: Invalid, Why: fmt.Sprintf("row %d is null", d.count)}
		}
		if err := d.take(row); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

func (d *jsonDocument) named() string {
	if len(d.rows) == 0 {
		return "the document"
	}
	return d.where()
}

// mistyped describes a value of a wrong type; it returns other errors unchanged.
func (d *jsonDocument) mistyped(err error, why string) error {
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return &Error{Class: Invalid, Why: why}
	}
	return err
}

// jsonText returns a value as text: strings unquoted, numbers as written, objects and lists as
// JSON.
func jsonText(raw json.RawMessage) (sql.NullString, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return sql.NullString{}, nil
	case raw[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return sql.NullString{String: text, Valid: true}, err
	case raw[0] == '{' || raw[0] == '[':
		var short bytes.Buffer
		err := json.Compact(&short, raw)
		return sql.NullString{String: short.String(), Valid: true}, err
	}
	return sql.NullString{String: string(raw), Valid: true}, nil
}
