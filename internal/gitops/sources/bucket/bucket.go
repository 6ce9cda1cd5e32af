// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

// Flux's reasons.
const (
	reasonOperation      = "BucketOperationFailed"
	reasonAuthentication = "AuthenticationFailed"
	reasonURLInvalid     = "URLInvalid"
)

// The providers, as Flux names them.
const (
	Generic = "generic"
	Amazon  = "aws"
	Google  = "gcp"
	Azure   = "azure"
)

// maxAnswer limits a page of a list, a token or an error.
const maxAnswer = 16 << 20

// Bucket describes a bucket and how to access it.
type Bucket struct {
	// Provider defaults to Generic.
	Provider string
	// Endpoint is a host with an optional port; for Azure a URL. Region is for S3.
	Endpoint, Name, Region string
	// Insecure uses HTTP.
	Insecure bool
	// Prefix selects the objects whose names begin with it. Names keep it.
	Prefix string
	// Ignore are patterns of objects to exclude; they override the bucket's .sourceignore.
	Ignore string
	// Access says how to reach the store. Its Credentials are not used.
	Access upstream.Access
	// Credentials are the entries of a Secret, with Flux's names; nil for anonymous access.
	Credentials map[string][]byte
	// Identity uses the cloud identity of this server, instead of Credentials. Its endpoint must be
	// the provider's own.
	Identity bool
	// Timeout limits a look and, separately, a fetch. MaxAge is the maximum age of a shared look.
	Timeout, MaxAge time.Duration
	// Limits limit the tree.
	Limits archive.Limits
}

// Client queries object stores. Create it with New.
type Client struct{ looks upstream.Looks[*index] }

// rememberable limits the objects of a remembered index, which takes memory: sources are usually
// buckets with a few files.
const rememberable = 2000

// New returns a client.
func New() *Client {
	return &Client{looks: upstream.Looks[*index]{Capacity: 256, Worth: func(x *index) bool { return len(x.objects) <= rememberable }}}
}

// Tree is the current content of a bucket.
type Tree struct {
	// Revision is sha256:… of the index.
	Revision string
	// Files is the number of files.
	Files int
	// ContentKey is equal for equal trees of one bucket with the same credentials.
	ContentKey string
	// Upstream is equal for trees that share a look.
	Upstream string

	index  *index
	wanted *Bucket
	forget func()
}

// store is a bucket of a provider.
type store interface {
	// list visits all objects whose names begin with prefix.
	list(ctx context.Context, prefix string, visit func(object) error) error
	// open reads an object. It returns errChanged if the object has changed since it was listed.
	open(ctx context.Context, o object) (content, error)
	// peek reads an object in its current version; errGone if there is none.
	peek(ctx context.Context, key string) (content, error)
}

// object is an object as it was listed.
type object struct {
	key, etag string
	size      int64
	// generation identifies the content in Google's storage.
	generation string
}

// Look finds the current content of the bucket. fresh requires a look that begins now.
func (c *Client) Look(ctx context.Context, b *Bucket, fresh bool) (*Tree, error) {
	s, err := b.open()
	if err != nil {
		return nil, err
	}
	upstreamKey := b.identity("look", b.Prefix, b.Ignore)
	key := b.identity("look", b.Prefix, b.Ignore, fmt.Sprint(b.Timeout), fmt.Sprint(b.Limits))
	options := upstream.Options{MaxAge: b.MaxAge, Timeout: b.Timeout, Fresh: fresh}
	found, err := c.looks.Look(ctx, key, options, func(ctx context.Context, _ **index) (*index, error) { return b.read(ctx, s) })
	if err != nil {
		return nil, b.failed("list", err)
	}
	return &Tree{
		Revision: found.revision(), Files: len(found.objects), ContentKey: b.identity("tree", found.contentKey()), Upstream: upstreamKey,
		index: found, wanted: b, forget: func() { c.looks.Forget(key) },
	}, nil
}

// identity identifies a bucket and its client.
func (b *Bucket) identity(what string, parts ...string) string {
	access := b.Access
	access.Credentials = nil
	for _, name := range credentialNames {
		access.Credentials = append(access.Credentials, b.Credentials[name])
	}
	return access.Identity(append([]string{what, b.Provider, b.Endpoint, b.Name, b.Region, fmt.Sprint(b.Insecure, b.Identity)}, parts...)...)
}

// open prepares the store.
func (b *Bucket) open() (store, error) {
	switch b.Provider {
	case Generic, Amazon, "":
		return b.openS3()
	case Google:
		return b.openGoogle()
	case Azure:
		return b.openAzure()
	}
	return nil, upstream.Stalled(reasonOperation, nil, "spec.provider %q is not known; use generic, aws, gcp or azure", b.Provider)
}

// scheme is the scheme of an endpoint without one.
func (b *Bucket) scheme() string {
	if b.Insecure {
		return "http://"
	}
	return "https://"
}

// httpClient does not follow redirects: they mean another endpoint or region.
func (b *Bucket) httpClient() (*http.Client, error) {
	transport, err := b.Access.Transport()
	if err != nil {
		return nil, badCredentials("use the certificates of spec.certSecretRef: "+err.Error(), err)
	}
	return &http.Client{Transport: upstream.Bounded(transport, maxAnswer), CheckRedirect: outbound.Follow(0)}, nil
}
