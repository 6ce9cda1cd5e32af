// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// maxAdvert limits all references together, in bytes: about 600 000 references.
const maxAdvert = 64 << 20

// advert is the first message of a server: its references and capabilities.
type advert struct {
	refs   map[string]plumbing.Hash
	peeled map[string]plumbing.Hash
	caps   *capability.List
}

// noRefs replaces the first reference of a repository without references.
const noRefs = "capabilities^{}"

// readAdvert reads references. It returns errEmpty without any; then the caller must check that the
// server sends nothing else, see ended.
func readAdvert(r io.Reader) (*advert, error) {
	limited := &upstream.LimitedReader{R: r, Left: maxAdvert, Exceeded: tooBig("its references have more than %d bytes", maxAdvert)}
	given := &advert{refs: map[string]plumbing.Hash{}, peeled: map[string]plumbing.Hash{}, caps: capability.NewList()}
	line, err := readLine(limited)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the server sent nothing: %w", io.ErrUnexpectedEOF)
	}
	if err == nil && strings.HasPrefix(string(line), "# ") {
		// Over HTTP, the list begins after a line and a flush.
		if line, err = readLine(limited); err == nil && len(line) == 0 {
			line, err = readLine(limited)
		}
	}
	for first := true; err == nil && len(line) > 0; first = false {
		if err = given.add(strings.TrimSuffix(string(line), "\n"), first); err == nil {
			line, err = readLine(limited)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the server stopped in the middle of its references: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return nil, err
	case len(given.refs) == 0:
		return nil, errEmpty
	}
	return given, nil
}

// add parses a line. The first one also contains the capabilities.
func (a *advert) add(line string, first bool) error {
	if first {
		rest, caps, found := strings.Cut(line, "\x00")
		if sha256 := strings.IndexByte(rest, ' ') == 64; sha256 {
			return errSHA256
		}
		if !found {
			return fmt.Errorf("%w: its first reference lacks the capabilities", errNotGit)
		}
		if err := a.caps.Decode([]byte(caps)); err != nil {
			return fmt.Errorf("%w: its capabilities: %w", errNotGit, err)
		}
		for _, format := range a.caps.Get("object-format") {
			if format != "sha1" {
				return errSHA256
			}
		}
		line = rest
	}
	id, name, _ := strings.Cut(line, " ")
	if id == "shallow" {
		return nil // the end of the server's own history does not matter
	}
	var hash plumbing.Hash
	if n, err := hex.Decode(hash[:], []byte(id[:min(len(id), 40)])); err != nil || n != len(hash) || len(id) != 40 || name == "" || strings.Contains(name, " ") {
		return fmt.Errorf("%w: a line is not a reference", errNotGit)
	}
	switch tag, isPeeled := strings.CutSuffix(name, "^{}"); {
	case first && name == noRefs && hash.IsZero():
	case isPeeled:
		a.peeled[tag] = hash
	default:
		a.refs[name] = hash
	}
	return nil
}

// ended checks that a server sends nothing more. Otherwise its references may still follow.
func ended(r io.Reader) error {
	switch _, err := io.ReadFull(r, make([]byte, 1)); {
	case err == nil:
		return errGoesOn
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
