// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
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

// maxAnswer bounds a page of a list, a token or an error.
const maxAnswer = 16 << 20

// Bucket says what is wanted, from where, and as whom it is asked for.
type Bucket struct {
	// Provider is Generic if it is empty.
	Provider string
	// Endpoint is a host, and a port if need be; for Azure it is a URL. Region is S3's.
	Endpoint, Name, Region string
	// Insecure speaks HTTP.
	Insecure bool
	// Prefix begins the names of the objects that count. It stays a part of them.
	Prefix string
	// Ignore are patterns of objects that do not count; they win over those of the bucket's .sourceignore.
	Ignore string
	// Access is how the store is reached. Its Credentials are not used.
	Access upstream.Access
	// Credentials are the entries of a Secret, by Flux's names; nil is nobody.
	Credentials map[string][]byte
	// Timeout bounds a look and, apart from it, a fetch. MaxAge is how old an answer of an earlier look may be.
	Timeout, MaxAge time.Duration
	// Limits bound the tree.
	Limits archive.Limits
}

// Client asks object stores. Make it with New.
type Client struct{ looks upstream.Looks[*index] }

// rememberable is how many objects a remembered index may have: it costs memory, and what lists are for is buckets with
// some files, not those with everything.
const rememberable = 2000

// New returns a client.
func New() *Client {
	return &Client{looks: upstream.Looks[*index]{Capacity: 256, Worth: func(x *index) bool { return len(x.objects) <= rememberable }}}
}

// Tree is what a bucket holds now.
type Tree struct {
	// Revision is sha256:… of the index.
	Revision string
	// Files is how many there are.
	Files int
	// ContentKey is equal for equal trees of one bucket, asked for with the same credentials.
	ContentKey string
	// Upstream is equal for trees that one look answers for.
	Upstream string

	index  *index
	wanted *Bucket
	forget func()
}

// store is a bucket of some provider.
type store interface {
	// list visits all objects whose names begin with prefix.
	list(ctx context.Context, prefix string, visit func(object) error) error
	// open reads an object. One that is not as it was listed any more is errChanged.
	open(ctx context.Context, o object) (content, error)
	// peek reads an object as it is now; errGone if there is none.
	peek(ctx context.Context, key string) (content, error)
}

// object is one object, as it was when it was listed.
type object struct {
	key, etag string
	size      int64
	// generation is a second name of the content, with Google.
	generation string
}

var (
	errChanged = errors.New("it was changed or removed while the bucket was fetched; the bucket is looked at again")
	errGone    = errors.New("there is no such object")
)

// Look finds out what the bucket holds now. fresh asks for a look that begins now.
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
		return nil, b.failure("list", err)
	}
	return &Tree{
		Revision: found.revision(), Files: len(found.objects), ContentKey: b.identity("tree", found.contentKey()), Upstream: upstreamKey,
		index: found, wanted: b, forget: func() { c.looks.Forget(key) },
	}, nil
}

// identity tells buckets and who asks for them apart.
func (b *Bucket) identity(what string, parts ...string) string {
	access := b.Access
	access.Credentials = nil
	for _, name := range credentialNames {
		access.Credentials = append(access.Credentials, b.Credentials[name])
	}
	return access.Identity(append([]string{what, b.Provider, b.Endpoint, b.Name, b.Region, fmt.Sprint(b.Insecure)}, parts...)...)
}

// open prepares the store.
func (b *Bucket) open() (store, error) {
	var (
		s   store
		err error
	)
	switch b.Provider {
	case Generic, Amazon, "":
		s, err = b.openS3()
	case Google:
		s, err = b.openGoogle()
	case Azure:
		s, err = b.openAzure()
	default:
		err = stalled(reasonOperation, fmt.Sprintf("spec.provider %q is not known; use generic, aws, gcp or azure", b.Provider))
	}
	return s, err
}

// failure says what was attempted when it failed, unless the error says that already.
func (b *Bucket) failure(action string, err error) error {
	var known *archive.FetchError
	if errors.As(err, &known) {
		return err
	}
	return &archive.FetchError{Reason: reasonOperation, Message: fmt.Sprintf("%s the bucket '%s' at %s: %s", action, b.Name, b.shown(), explain(err)), Err: err}
}

func stalled(reason, message string) error {
	return &archive.FetchError{Reason: reason, Message: message, Stalled: true}
}

func badCredentials(message string, cause error) error {
	return &archive.FetchError{Reason: reasonAuthentication, Message: message, Err: cause}
}
