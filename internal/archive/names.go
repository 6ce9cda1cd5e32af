// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// EntryError says which entry of an archive or tree is invalid.
type EntryError struct {
	Name   string
	Reason string
}

func (e *EntryError) Error() string { return fmt.Sprintf("entry %q: %s", e.Name, e.Reason) }

// LimitError says which limit an archive exceeds.
type LimitError struct {
	What  string
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s exceeds the limit of %d", e.What, e.Limit)
}

// DigestError means that an archive has a different digest.
type DigestError struct {
	Want, Got string
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("the archive's digest is %s, expected %s", e.Got, e.Want)
}

const (
	maxName      = 1024
	maxComponent = 255
)

// cleanName makes an entry's name relative, slash-separated and without dots, or says why it is
// invalid. The root of the tree is ".".
func cleanName(name string) (string, error) {
	switch {
	case name == "":
		return "", &EntryError{name, "the name is empty"}
	case len(name) > maxName:
		return "", &EntryError{name[:100] + "…", fmt.Sprintf("the name has more than %d bytes", maxName)}
	case strings.HasPrefix(name, "/"):
		return "", &EntryError{name, "the path is absolute"}
	case strings.ContainsAny(name, "\x00\\") || !utf8.ValidString(name):
		return "", &EntryError{name, "the name contains a backslash or a null, or is not UTF-8"}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "", &EntryError{name, "the path leaves the directory"}
		case len(part) > maxComponent:
			return "", &EntryError{name[:100] + "…", "a part of the name is too long"}
		}
	}
	return path.Clean(name), nil
}

// checkLink reports whether a link stays inside the tree wherever its target leads. ".." is allowed
// only at the target's beginning: after a link it would be relative to that one's target.
func checkLink(name, target string) error {
	if target == "" || len(target) > maxName || strings.HasPrefix(target, "/") || strings.ContainsAny(target, "\x00\\") {
		return &EntryError{name, "a link's target must be a relative path"}
	}
	depth, down := strings.Count(name, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; down || depth < 0 {
				return &EntryError{name, "the link leaves the directory"}
			}
		default:
			down = true
		}
	}
	return nil
}
