// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// ErrNone is wrapped by errors about a module or version that does not exist.
var ErrNone = errors.New("there is no such module")

// ConflictError means that the version is published already with other bytes.
type ConflictError struct {
	Version   layout.ModuleVersion
	Have, Got string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("publish %s: the version exists with other content (it has %s, yours has %s). Published versions never change; publish a new version",
		e.Version, e.Have, e.Got)
}

// IncompatibleError means that a patch release would break callers.
type IncompatibleError struct {
	Version layout.ModuleVersion
	Changes Changes
}

func (e *IncompatibleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "publish %s: a patch release must not break callers of %s, but it does:", e.Version, e.Changes.Base)
	for _, c := range inspect.Breaking(e.Changes.List) {
		b.WriteString("\n  - " + c.Message)
	}
	b.WriteString("\nPublish it as a new minor or major version, or force it.")
	return b.String()
}
