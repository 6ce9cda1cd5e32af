// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"io"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Found is what an upstream has for an object now.
type Found struct {
	// Revision names the content in Flux's format: main@sha1:…, 1.2.3@sha256:….
	Revision string
	// Metadata goes to status.artifact.metadata.
	Metadata map[string]string
	// Verified says what was signed with which key, as the message of the condition SourceVerified; empty when nothing
	// was asked for.
	Verified string
	// ContentKey tells trees apart: equal keys promise equal trees, whatever object asks, so that a tree is packed once
	// for all of them. An empty one promises nothing.
	ContentKey string
	// Upstream names the upstream together with what it is asked with: sources that have it in common hear of each
	// other's news. Empty when there is no such name.
	Upstream string
	// News says what is new, as the message of the event for a new artifact; empty for the usual one.
	News string
	// Fetch puts the tree into an empty directory.
	Fetch func(ctx context.Context, dir string) error
	// LeftOut, if it is set, names what Fetch left out of the tree because it leads out of it.
	LeftOut func() []string
	// Archive opens the archive as it is, instead of Fetch: an OCI layer that is copied, not packed again.
	Archive func(ctx context.Context) (io.ReadCloser, error)
}

// Upstream is where the content of one kind of source comes from. Failures that a source's status is to tell are
// *source.FetchError; all others are taken for passing ones. Look is called from many workers at once and must respect
// its context.
type Upstream[O client.Object] interface {
	// Look asks what the upstream has for obj. fresh is true when somebody asked for a look now: an answer that was
	// remembered from before does not do. It does not fetch what it can do without.
	Look(ctx context.Context, obj O, fresh bool) (*Found, error)
}
