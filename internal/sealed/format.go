// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
)

// Kind and Format identify a header.
const (
	Kind   = "yuba-archive"
	Format = 1
)

// The members of an archive, in their order.
const (
	readmeName    = "README.txt"
	headerName    = "archive.json"
	signatureName = "archive.json.sig"
	signerName    = "signer.pem"
	indexName     = "index.json.age"
	contentName   = "content.tar.age"
)

// SumsName is the last member of the content, for "sha256sum -c".
const SumsName = "SHA256SUMS"

const (
	mib = 1 << 20
	// maxHeader also limits what a home signs.
	maxHeader = 4 * mib
	maxReadme = 64 << 10
	maxSigner = 4 << 10
	maxIndex  = 256 * mib
	// maxMembers is far above what retention keeps of many stacks.
	maxMembers = 2_000_000
	// maxName keeps names short enough for every file system.
	maxName = 900
)

// Header is archive.json. It is public: everybody who has the file reads it.
type Header struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
	// Version is that of the program that wrote the archive.
	Version string `json:"version,omitempty"`
	// Home is what the author calls the home, HomeID what identifies its store for its whole life.
	Home   string `json:"home,omitempty"`
	HomeID string `json:"homeID,omitempty"`
	// Reason is the author's note.
	Reason string `json:"reason,omitempty"`
	// Stacks are NAMESPACE/NAME.
	Stacks []string `json:"stacks"`
	// Recipients are public keys: who can decrypt the archive.
	Recipients []string `json:"recipients"`
	// Members are the other members that the signature covers.
	Members []Member `json:"members"`
}

// Member is a member of the archive or of its content.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Stack says what the content has of one stack.
type Stack struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Dir is the directory of its members.
	Dir string `json:"dir"`
	// State is the member with the current state; empty without one. OwnBackend: the state is in a custom
	// backend, and not in the archive.
	State      string `json:"state,omitempty"`
	OwnBackend bool   `json:"ownBackend,omitempty"`
	Serial     uint64 `json:"serial,omitempty"`
	Lineage    string `json:"lineage,omitempty"`
	Encrypted  bool   `json:"encrypted,omitempty"`
	Versions   int    `json:"versions"`
	Runs       int    `json:"runs"`
	// Damaged are contents that the home could not read.
	Damaged []string `json:"damaged,omitempty"`
}

// Index lists the content.
type Index struct {
	Format  int      `json:"format"`
	Stacks  []Stack  `json:"stacks"`
	Members []Member `json:"members"`
}

// BadError means that a file is not an intact sealed archive.
type BadError struct{ Why string }

func (e *BadError) Error() string { return e.Why }

func bad(format string, args ...any) error { return &BadError{fmt.Sprintf(format, args...)} }

// ErrNoIdentity means that none of the identities is one of a recipient's.
var ErrNoIdentity = errors.New("none of the identities can decrypt the archive")

// plainName are names that no program misreads: no spaces, no control characters, no quotes.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._+=@:-]+(/[A-Za-z0-9._+=@:-]+)*$`)

// checkName refuses names that leave the directory where the archive is extracted.
func checkName(name string) error {
	if len(name) > maxName || !plainName.MatchString(name) || path.Clean(name) != name || strings.HasPrefix(name, "-") {
		return bad("the name of its member %q is not allowed", cut(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "." || part == ".." {
			return bad("its member %q leaves the archive's directory", cut(name))
		}
	}
	return nil
}

func cut(text string) string { return text[:min(len(text), 100)] }
