// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// errStructure means that a text is JSON, but not a state.
var errStructure = errors.New("its JSON has another structure")

// parse reads a state as the tool prints it, one resource at a time; nil for none.
func parse(data []byte) (*document, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	r := reader{Decoder: json.NewDecoder(bytes.NewReader(data)), document: &document{}}
	r.UseNumber()
	encrypted := false
	err := r.fields(func(name string) (err error) {
		switch name {
		case "version":
			return r.Decode(&r.document.version)
		case "serial":
			return r.serial()
		case "lineage":
			return r.Decode(&r.document.lineage)
		case "outputs":
			return r.outputs()
		case "resources":
			return r.resources()
		case "encrypted_data":
			encrypted = true
		}
		return r.skip()
	})
	switch d := r.document; {
	case encrypted:
		return nil, ErrEncrypted
	case err != nil:
		return nil, errors.New("it is not a state: " + firstWords(err))
	case d.version != 4:
		return nil, fmt.Errorf("it has the format version %d, and only 4 is known. Apply it once with a current tool", d.version)
	}
	r.document.digest = r.digest()
	return r.document, nil
}

// firstWords is an error of the decoder without the text that it quotes.
func firstWords(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)
	}
	return errStructure.Error()
}

// reader reads a state as a stream. Of a field that is there twice, the last one counts, as for the tool.
type reader struct {
	*json.Decoder
	document *document
	// of are the digests of the resources, out is that of the outputs.
	of  [][]byte
	out []byte
}

// fields calls do for each field of an object, to read its value.
func (r *reader) fields(do func(name string) error) error {
	if err := r.delimiter('{'); err != nil {
		return err
	}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errStructure
		}
		if err := do(name); err != nil {
			return err
		}
	}
	_, err := r.Token()
	return err
}

func (r *reader) delimiter(want json.Delim) error {
	token, err := r.Token()
	if err == nil && token != want {
		err = errStructure
	}
	return err
}

// skip reads a value that does not matter.
func (r *reader) skip() error {
	for depth := 0; ; {
		token, err := r.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func (r *reader) serial() error {
	var raw json.RawMessage
	if err := r.Decode(&raw); err != nil {
		return err
	}
	d := r.document
	d.to = r.InputOffset()
	d.from = d.to - int64(len(raw))
	return json.Unmarshal(raw, &d.serial)
}

func (r *reader) outputs() error {
	var outputs map[string]any
	if err := r.Decode(&outputs); err != nil {
		return err
	}
	if r.document.outputs, r.out = len(outputs), nil; len(outputs) > 0 {
		r.out = sum(encode(outputs))
	}
	return nil
}

func (r *reader) resources() error {
	r.of, r.document.resources, r.document.instances = nil, 0, 0
	switch token, err := r.Token(); {
	case err != nil:
		return err
	case token == nil:
		return nil
	case token != json.Delim('['):
		return errStructure
	}
	for r.More() {
		digest, instances, err := r.resource()
		if err != nil {
			return err
		}
		r.of = append(r.of, digest)
		r.document.resources++
		r.document.instances += instances
	}
	_, err := r.Token()
	return err
}

// resource reads a resource, one instance at a time: one that has a count may be most of the state.
func (r *reader) resource() (digest []byte, instances int, err error) {
	rest := map[string]any{}
	var of [][]byte
	err = r.fields(func(name string) error {
		if name != "instances" {
			var value any
			err := r.Decode(&value)
			rest[name] = value
			return err
		}
		of = nil
		switch token, err := r.Token(); {
		case err != nil:
			return err
		case token == nil:
			return nil
		case token != json.Delim('['):
			return errStructure
		}
		for r.More() {
			var value any
			if err := r.Decode(&value); err != nil {
				return err
			}
			of = append(of, sum(canonical(value, "")))
		}
		_, err := r.Token()
		return err
	})
	delete(rest, "each") // older tools wrote it, and newer ones drop it
	return sum(append([][]byte{canonical(rest, "")}, sorted(of)...)...), len(of), err
}
