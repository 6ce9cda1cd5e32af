// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel

import (
	"context"
	"io"

	"github.com/yuba-dev/yuba/internal/kit/bundle"
)

// Walk reads a parcel without storing it, and calls do for each member in its order. do may leave a
// rest unread. Only a call that returns without an error has proven that the members are the ones that
// the manifest, which it returns, lists.
func Walk(ctx context.Context, r io.Reader, do func(name string, content io.Reader) error) (bundle.Manifest, error) {
	entries := newReader(ctx, r, MaxTotal)
	for first := true; ; first = false {
		name, err := entries.next()
		if err != nil {
			return bundle.Manifest{}, err
		}
		if name == bundle.ManifestName {
			return entries.check()
		}
		if first && name != headerName {
			return bundle.Manifest{}, bad("it does not begin with %s", headerName)
		}
		if err := do(name, entries.member(MaxTotal)); err != nil {
			return bundle.Manifest{}, err
		}
		if err := entries.skip(MaxTotal); err != nil {
			return bundle.Manifest{}, err
		}
	}
}

// HeaderName is the first member, LockFileName the dependency lock file; versions of states, programs
// and runs are in directories.
const (
	HeaderName   = headerName
	LockFileName = lockFileName
	StatesDir    = statesDir
	ArtifactsDir = artifactsDir
	RunsDir      = runsDir
)
