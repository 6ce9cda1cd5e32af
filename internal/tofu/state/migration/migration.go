// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Verb is what to do with a destination.
type Verb string

// The verbs.
const (
	// Copy: the destination has no state, or an earlier one of the same lineage.
	Copy Verb = "copy"
	// Replace: it has a state of another lineage without resources and outputs, as the tool makes
	// with a new workspace, or with the very content of the source: OpenTofu invents a lineage when
	// it pushes the first state to a remote backend.
	Replace Verb = "replace"
	// Keep: it has the very state already.
	Keep Verb = "keep"
	// Nothing: there is no state at either side.
	Nothing Verb = "nothing"
)

// RefusedError says why a state is not copied. Nothing was changed.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// ErrEncrypted means that the tool did not decrypt a state.
var ErrEncrypted = errors.New("the state is encrypted, and the program's encryption settings do not decrypt it")

// document is a state as far as a migration needs it.
type document struct {
	Version   int                        `json:"version"`
	Serial    uint64                     `json:"serial"`
	Lineage   string                     `json:"lineage"`
	Encrypted json.RawMessage            `json:"encrypted_data"`
	Outputs   map[string]json.RawMessage `json:"outputs"`
	Resources []map[string]any           `json:"resources"`
}

// parse reads a state as the tool prints it; nil for none.
func parse(data []byte) (*document, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	d := &document{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(d); err != nil {
		return nil, errors.New("it is not a state: " + firstWords(err))
	}
	switch {
	case len(d.Encrypted) > 0:
		return nil, ErrEncrypted
	case d.Version != 4:
		return nil, fmt.Errorf("it has the format version %d, and only 4 is known. Apply it once with a current tool", d.Version)
	}
	return d, nil
}

// firstWords is an error of the decoder without the text that it quotes.
func firstWords(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)
	}
	return "its JSON has another structure"
}

func (d *document) empty() bool { return d == nil || len(d.Resources) == 0 && len(d.Outputs) == 0 }

// Judge decides what to do, or refuses.
func Judge(source, destination []byte) (Verb, error) {
	from, err := parse(source)
	if err != nil {
		return "", fmt.Errorf("read the state at the source: %w", err)
	}
	to, err := parse(destination)
	if err != nil {
		return "", fmt.Errorf("read the state at the destination: %w", err)
	}
	switch {
	case from.empty() && to.empty():
		return Nothing, nil
	case from.empty():
		return "", refuse("the source has no resources, but the destination has a state with %d (lineage %s, serial %d). "+
			"If it is this stack's state, keep it with --accept", len(to.Resources), to.Lineage, to.Serial)
	case to == nil || to.Lineage == "" && to.empty(): // as the tool prints that there is none
		return Copy, nil
	case to.Lineage != from.Lineage && (to.empty() || digest(to) == digest(from)):
		return Replace, nil
	case to.Lineage != from.Lineage:
		return "", refuse("the destination has a state of another lineage, %s instead of %s, with %d resources: it is not this stack's. Choose another place",
			to.Lineage, from.Lineage, len(to.Resources))
	case digest(from) == digest(to) && to.Serial > from.Serial:
		return Keep, nil
	case to.Serial > from.Serial+1:
		return "", refuse("the destination has a newer state of the same lineage, with serial %d instead of %d: somebody worked on it there. "+
			"If that is this stack's state, keep it with --accept; otherwise remove it", to.Serial, from.Serial)
	case to.Serial == from.Serial+1:
		return "", refuse("the destination has another state of the same lineage and the next serial, %d: two copies were changed. "+
			"Compare them, and remove the wrong one", to.Serial)
	}
	return Copy, nil
}

// Accept checks that a destination has a state that the stack can continue with.
func Accept(destination []byte) (Proof, error) {
	to, err := parse(destination)
	switch {
	case err != nil:
		return Proof{}, fmt.Errorf("read the state at the destination: %w", err)
	case to == nil || to.Lineage == "" && to.empty():
		return Proof{}, refuse("the destination has no state. To copy the state there, leave out --accept")
	}
	return prove(to, to), nil
}

// Raise returns the source with the next serial, otherwise unchanged.
func Raise(source []byte) ([]byte, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(source, &parts); err != nil {
		return nil, errors.New("read the state at the source: " + firstWords(err))
	}
	var serial uint64
	if err := json.Unmarshal(parts["serial"], &serial); err != nil {
		return nil, errors.New("read the state at the source: it has no serial")
	}
	parts["serial"] = fmt.Append(nil, serial+1)
	return json.Marshal(parts)
}

// Proof says that two states are equal.
type Proof struct {
	// Resources counts instances.
	Resources int    `json:"resources"`
	Outputs   int    `json:"outputs"`
	Lineage   string `json:"lineage"`
	Serial    uint64 `json:"serial"`
	NewSerial uint64 `json:"newSerial"`
	Digest    string `json:"digest"`
}

func (p Proof) String() string {
	return fmt.Sprintf("%d resources and %d outputs are equal on both sides (%s); lineage %s, serial %d -> %d", p.Resources, p.Outputs, p.Digest, p.Lineage, p.Serial, p.NewSerial)
}

// Prove compares the source with what was read back from the destination.
func Prove(source, destination []byte) (Proof, error) {
	from, err := parse(source)
	if err != nil {
		return Proof{}, fmt.Errorf("read the state at the source: %w", err)
	}
	to, err := parse(destination)
	switch {
	case err != nil:
		return Proof{}, fmt.Errorf("read the copy back: %w", err)
	case from == nil || to == nil:
		return Proof{}, errors.New("read the copy back: there is none")
	case from.Lineage != to.Lineage:
		return Proof{}, fmt.Errorf("the copy has the lineage %s instead of %s", to.Lineage, from.Lineage)
	case to.Serial <= from.Serial:
		return Proof{}, fmt.Errorf("the copy has the serial %d, which is not above that of the source, %d", to.Serial, from.Serial)
	case digest(from) != digest(to):
		return Proof{}, fmt.Errorf("the copy differs: %d resources and %d outputs instead of %d and %d, or other values in them",
			instances(to), len(to.Outputs), instances(from), len(from.Outputs))
	}
	return prove(from, to), nil
}

func prove(from, to *document) Proof {
	return Proof{Resources: instances(from), Outputs: len(from.Outputs), Lineage: from.Lineage, Serial: from.Serial, NewSerial: to.Serial, Digest: digest(from)}
}

func instances(d *document) (n int) {
	for _, r := range d.Resources {
		list, _ := r["instances"].([]any) //nolint:errcheck // nothing counts as none
		n += len(list)
	}
	return n
}

// orderOf sorts resources and instances by their JSON.
func orderOf(a, b json.RawMessage) int { return cmp.Compare(string(a), string(b)) }

func sorted(list []json.RawMessage) []json.RawMessage {
	slices.SortFunc(list, orderOf)
	return list
}
