// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"errors"
	"fmt"
	"strconv"
)

// Verb is what to do with a destination.
type Verb string

// The verbs.
const (
	// Copy: the destination has no state, an earlier one of the same lineage, or the very state of the source.
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

// document is a state as far as a migration needs it. Of its content only counts and a digest are kept: states
// have up to 100 MB.
type document struct {
	version   int
	serial    uint64
	lineage   string
	outputs   int
	resources int
	instances int
	digest    string
	// from and to are where its text has the serial.
	from, to int64
}

func (d *document) empty() bool { return d == nil || d.resources == 0 && d.outputs == 0 }

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
			"If it is this stack's state, keep it with --accept", to.resources, to.lineage, to.serial)
	case to == nil || to.lineage == "" && to.empty(): // as the tool prints that there is none
		return Copy, nil
	case to.lineage != from.lineage && (to.empty() || to.digest == from.digest):
		return Replace, nil
	case to.lineage != from.lineage:
		return "", refuse("the destination has a state of another lineage, %s instead of %s, with %d resources: it is not this stack's. Choose another place",
			to.lineage, from.lineage, to.resources)
	case from.digest == to.digest && to.serial > from.serial:
		return Keep, nil
	case to.serial > from.serial+1:
		return "", refuse("the destination has a newer state of the same lineage, with serial %d instead of %d: somebody worked on it there. "+
			"If that is this stack's state, keep it with --accept; otherwise remove it", to.serial, from.serial)
	case from.digest != to.digest && to.serial >= from.serial:
		return "", refuse("the destination has another state of the same lineage, with serial %d, and the source has serial %d: two copies were changed. "+
			"Compare them. If the destination has the copy of a migration that was given up, remove that copy; "+
			"if it is this stack's state, keep it with --accept", to.serial, from.serial)
	}
	return Copy, nil
}

// Accept checks that a destination has a state that the stack can continue with.
func Accept(destination []byte) (Proof, error) {
	to, err := parse(destination)
	switch {
	case err != nil:
		return Proof{}, fmt.Errorf("read the state at the destination: %w", err)
	case to == nil || to.lineage == "" && to.empty():
		return Proof{}, refuse("the destination has no state. To copy the state there, leave out --accept")
	}
	return prove(to, to), nil
}

// Raise returns the source with the next serial, otherwise unchanged.
func Raise(source []byte) ([]byte, error) {
	d, err := parse(source)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the state at the source: %w", err)
	case d == nil || d.to == 0:
		return nil, errors.New("read the state at the source: it has no serial")
	}
	serial := strconv.FormatUint(d.serial+1, 10)
	next := make([]byte, 0, len(source)+len(serial))
	return append(append(append(next, source[:d.from]...), serial...), source[d.to:]...), nil
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
	case from.lineage != to.lineage:
		return Proof{}, fmt.Errorf("the copy has the lineage %s instead of %s", to.lineage, from.lineage)
	case to.serial <= from.serial:
		return Proof{}, fmt.Errorf("the copy has the serial %d, which is not above that of the source, %d", to.serial, from.serial)
	case from.digest != to.digest:
		return Proof{}, fmt.Errorf("the copy differs: %d resources and %d outputs instead of %d and %d, or other values in them",
			to.instances, to.outputs, from.instances, from.outputs)
	}
	return prove(from, to), nil
}

func prove(from, to *document) Proof {
	return Proof{Resources: from.instances, Outputs: from.outputs, Lineage: from.lineage, Serial: from.serial, NewSerial: to.serial, Digest: from.digest}
}
