// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Found is the current content of an upstream for an object.
type Found struct {
	// Revision identifies the content in Flux's format: main@sha1:…, 1.2.3@sha256:….
	Revision string
	// Metadata goes to status.artifact.metadata.
	Metadata map[string]string
	// Verified says what was signed with which key, as the message of the condition SourceVerified;
	// empty without verification.
	Verified string
	// ContentKey is equal only for equal trees, of any object, so that a tree is packed once. Empty
	// if unknown.
	ContentKey string
	// Upstream identifies the upstream with its access: sources with the same one share news. Empty
	// if there is no identity.
	Upstream string
	// News is the message of the event for a new artifact; empty for the default.
	News string
	// Fetch writes the tree to an empty directory.
	Fetch func(ctx context.Context, dir string) error
	// Authors, if set, returns who made the revision, after Fetch.
	Authors func(ctx context.Context) []string
	// Parent, if set, returns the commit that the revision directly follows, after Fetch; empty if there
	// are several.
	Parent func(ctx context.Context) string
	// LeftOut, if set, lists links that Fetch excluded because they lead out of the tree.
	LeftOut func() []string
	// Reason and Message are those of the conditions about the artifact; empty for the kind's.
	Reason, Message string
	// Chart is the chart, of a HelmChart.
	Chart FoundChart
	// Archive, if set, replaces Fetch: it opens an archive that is copied unchanged, such as an OCI
	// layer.
	Archive func(ctx context.Context) (io.ReadCloser, error)
}

// Upstream is the origin of one kind of source. Failures for a source's status are
// *archive.FetchError; others count as temporary. Look is called concurrently and must respect its
// context.
type Upstream[O client.Object] interface {
	// Look returns the current content of the upstream for obj. fresh requires a look that begins
	// now, not a shared earlier one. It fetches only what it needs.
	Look(ctx context.Context, obj O, fresh bool) (*Found, error)
}
