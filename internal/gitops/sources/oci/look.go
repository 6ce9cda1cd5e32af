// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// Client queries registries. Create it with New.
type Client struct {
	looks    upstream.Looks[*seen]
	verified upstream.Looks[string]
}

// rememberable is how large a manifest may be to be remembered; those of artifacts have a kilobyte
// or two.
const rememberable = 64 << 10

// New returns a client.
func New() *Client {
	return &Client{looks: upstream.Looks[*seen]{Worth: func(s *seen) bool { return s.size <= rememberable }}}
}

// seen is what a look found. It is shared and never changed.
type seen struct {
	tag      string // empty when a digest was asked for
	digest   v1.Hash
	manifest *v1.Manifest
	size     int
	registry *registry
}

// Artifact is the artifact that a reference names now.
type Artifact struct {
	// Revision is tag@sha256:…, or sha256:… for a digest.
	Revision string
	// Metadata are the annotations of the manifest.
	Metadata map[string]string
	// Verified is the key of the signature; empty without verification.
	Verified string
	// ContentKey is equal for artifacts with equal selected layers and the same credentials.
	ContentKey string
	// Upstream is equal for artifacts that share a look.
	Upstream string

	seen   *seen
	layer  v1.Descriptor
	wanted *Repository
	forget func()
}

// Look finds the artifact that the reference names now. fresh requires a look that begins now.
func (c *Client) Look(ctx context.Context, r *Repository, fresh bool) (*Artifact, error) {
	repository, err := r.parse()
	if err != nil {
		return nil, err
	}
	resolve, err := r.resolver(repository)
	if err != nil {
		return nil, err
	}
	options := upstream.Options{MaxAge: r.MaxAge, Timeout: r.Timeout, Fresh: fresh}
	key := r.identity("look", append(r.reference(), fmt.Sprint(r.Timeout))...)
	found, err := c.looks.Look(ctx, key, options, resolve)
	if err != nil {
		return nil, asFetchError(reasonPull, "look at "+shown(repository), err)
	}
	artifact := &Artifact{Revision: found.digest.String(), Metadata: metadata(found.manifest.Annotations), Upstream: r.identity("look", r.reference()...),
		seen: found, wanted: r, forget: func() { c.looks.Forget(key) }}
	if found.tag != "" {
		artifact.Revision = found.tag + "@" + artifact.Revision
	}
	if artifact.layer, err = r.selectLayer(found.manifest, shown(repository)); err != nil {
		return nil, err
	}
	artifact.ContentKey = r.identity("layer", artifact.layer.Digest.String(), fmt.Sprint(r.Copy))
	if r.Verify != nil {
		if artifact.Verified, err = c.verify(ctx, r, found); err != nil {
			return nil, err
		}
	}
	return artifact, nil
}

// maxMetadata bounds the annotations that are kept: they go into an object's status, which has a
// limit of its own.
const maxMetadata = 64 << 10

// metadata is what is kept of the annotations: all of them, or if they are too many, where the
// artifact comes from.
func metadata(annotations map[string]string) map[string]string {
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	if size <= maxMetadata {
		return annotations
	}
	origin := map[string]bool{oci.SourceAnnotation: true, oci.RevisionAnnotation: true, oci.CreatedAnnotation: true}
	kept := maps.Clone(annotations)
	maps.DeleteFunc(kept, func(key, value string) bool { return !origin[key] || len(value) > maxMetadata/len(origin) })
	return kept
}

// identity tells repositories and who asks for them apart.
func (r *Repository) identity(what string, parts ...string) string {
	access := r.Access
	access.Credentials = r.Credentials.parts()
	return access.Identity(append([]string{what, r.URL, fmt.Sprint(r.Insecure)}, parts...)...)
}

// reference is all that the answer of a look depends on beside the repository and who asks: of
// charts, tags are read in another way.
func (r *Repository) reference() []string {
	return []string{r.Digest, r.SemVer, r.SemverFilter, r.Tag, fmt.Sprint(r.MediaType == chartLayer)}
}

// resolver is what a look does: connect, find the digest, and read the manifest unless it is the
// one from before.
func (r *Repository) resolver(repository name.Repository) (upstream.Ask[*seen], error) {
	wanted := *r
	if r.Digest != "" {
		digest, err := r.wantedDigest()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, last **seen) (*seen, error) {
			if last != nil {
				return *last, nil // what a digest names never changes
			}
			return wanted.see(ctx, repository, last, func(context.Context, *registry) (string, v1.Hash, error) { return "", digest, nil })
		}, nil
	}
	find := func(ctx context.Context, g *registry) (string, v1.Hash, error) {
		tag := wanted.Tag
		if tag == "" {
			tag = name.DefaultTag
		}
		digest, err := g.digestOf(ctx, tag)
		return tag, digest, asFetchError(reasonPull, "find out what "+shown(repository)+":"+tag+" is", err)
	}
	if r.SemVer != "" {
		within, err := r.versions()
		if err != nil {
			return nil, err
		}
		find = within.find
	}
	if !validTag(repository, r.Tag) {
		return nil, &archive.FetchError{Reason: reasonURLInvalid, Message: "spec.ref.tag is not a valid tag: use letters, digits, '_', '.' and '-'", Stalled: true}
	}
	return func(ctx context.Context, last **seen) (*seen, error) { return wanted.see(ctx, repository, last, find) }, nil
}

func validTag(repository name.Repository, tag string) bool {
	_, err := name.NewTag(repository.Name()+":"+tag, name.WeakValidation)
	return tag == "" || err == nil
}

// find is the digest of the highest version.
func (v *versionRange) find(ctx context.Context, g *registry) (string, v1.Hash, error) {
	tags, err := g.tags(ctx)
	if err != nil {
		return "", v1.Hash{}, asFetchError(reasonRead, "list the tags of "+shown(g.repository), err)
	}
	tag, ok := v.highest(tags)
	if !ok {
		return "", v1.Hash{}, failure(reasonRead, "none of the %d tags of %s is a version within spec.ref.semver '%s'%s", nil,
			len(tags), shown(g.repository), v.text, v.filterHint())
	}
	digest, err := g.digestOf(ctx, tag)
	return tag, digest, asFetchError(reasonPull, "find out what "+shown(g.repository)+":"+tag+" is", err)
}

func (v *versionRange) filterHint() string {
	if v.filter == nil {
		return ""
	}
	return " that matches spec.ref.semverFilter"
}

type finder func(context.Context, *registry) (tag string, digest v1.Hash, err error)

func (r *Repository) see(ctx context.Context, repository name.Repository, last **seen, find finder) (*seen, error) {
	g, err := r.connect(ctx, repository)
	if err != nil {
		return nil, err
	}
	tag, digest, err := find(ctx, g)
	if err != nil {
		return nil, err
	}
	if last != nil && (*last).digest == digest {
		return &seen{tag, digest, (*last).manifest, (*last).size, g}, nil
	}
	manifest, size, err := g.imageManifest(ctx, digest)
	if err != nil {
		return nil, asFetchError(reasonPull, "read the manifest of "+shown(repository)+"@"+digest.String(), err)
	}
	return &seen{tag, digest, manifest, size, g}, nil
}

// imageManifest reads the manifest of an artifact. An index stands for its manifest for
// linux/amd64, as with Flux.
func (g *registry) imageManifest(ctx context.Context, digest v1.Hash) (manifest *v1.Manifest, size int, err error) {
	content, err := g.manifest(ctx, digest)
	if err != nil {
		return nil, 0, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(content))
	if err == nil && (index.MediaType.IsIndex() || len(index.Manifests) > 0) {
		child, err := platformOf(index)
		if err != nil {
			return nil, 0, err
		}
		if content, err = g.manifest(ctx, child); err != nil {
			return nil, 0, err
		}
	}
	if manifest, err = v1.ParseManifest(bytes.NewReader(content)); err != nil {
		return nil, 0, malformed("the manifest", err)
	}
	if manifest.SchemaVersion != 2 || manifest.MediaType != "" && manifest.MediaType != types.OCIManifestSchema1 && manifest.MediaType != types.DockerManifestSchema2 {
		return nil, 0, failure(reasonPull, "%s@%s is not an artifact: its manifest has an unsupported type", nil, shown(g.repository), digest)
	}
	return manifest, len(content), nil
}

func platformOf(index *v1.IndexManifest) (v1.Hash, error) {
	for _, child := range index.Manifests {
		if child.MediaType.IsImage() && (child.Platform == nil || child.Platform.OS == "linux" && child.Platform.Architecture == "amd64") {
			return child.Digest, nil
		}
	}
	return v1.Hash{}, failure(reasonPull, "the artifact is an index without a manifest for linux/amd64", nil)
}

// asFetchError says what was attempted when it failed, unless the error says that already.
func asFetchError(reason, action string, err error) error {
	var known *archive.FetchError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return failure(reason, "%s: %s", err, action, explain(err))
}
