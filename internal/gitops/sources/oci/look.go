// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// Client queries registries. Create it with New.
type Client struct {
	looks    upstream.Looks[*seen]
	verified upstream.Looks[string]
	lists    upstream.Looks[[]string]
}

// rememberable limits remembered manifests; usually they have one or two kilobytes.
const rememberable = 64 << 10

// New returns a client.
func New() *Client {
	return &Client{looks: upstream.Looks[*seen]{Worth: func(s *seen) bool { return s.size <= rememberable }},
		lists: upstream.Looks[[]string]{Capacity: 256, Worth: func(tags []string) bool { return len(tags) <= rememberableTags }}}
}

// seen is the result of a look. It is shared and never changed.
type seen struct {
	tag      string // empty if a digest was requested
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
		return nil, attempted(reasonPull, "check "+shown(repository), err)
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

// maxMetadata limits the annotations in the object's status.
const maxMetadata = 64 << 10

// metadata returns all annotations or, if they are too large, the origin of the artifact.
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

// identity identifies a repository and its client.
func (r *Repository) identity(what string, parts ...string) string {
	access := r.Access
	access.Credentials = r.Credentials.parts()
	return access.Identity(append([]string{what, r.URL, fmt.Sprint(r.Insecure)}, parts...)...)
}

// reference returns what a look depends on besides the identity. Charts have another tag format.
func (r *Repository) reference() []string {
	return []string{r.Digest, r.SemVer, r.SemverFilter, r.Tag, fmt.Sprint(r.MediaType == chartLayer)}
}

// resolver returns the look: connect, find the digest, and read the manifest if it is a new one.
func (r *Repository) resolver(repository name.Repository) (upstream.Ask[*seen], error) {
	wanted := *r
	if r.Digest != "" {
		digest, err := r.wantedDigest()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, last **seen) (*seen, error) {
			if last != nil {
				return *last, nil // a digest always names the same manifest
			}
			return wanted.see(ctx, repository, last, func(context.Context, *registry) (string, v1.Hash, error) { return "", digest, nil })
		}, nil
	}
	find := func(ctx context.Context, g *registry) (string, v1.Hash, error) {
		return g.resolve(ctx, cmp.Or(wanted.Tag, name.DefaultTag))
	}
	if r.SemVer != "" {
		within, err := r.versions()
		if err != nil {
			return nil, err
		}
		find = within.find
	}
	if !validTag(repository, r.Tag) {
		return nil, upstream.Stalled(reasonURLInvalid, nil, "spec.ref.tag is not a valid tag: use letters, digits, '_', '.' and '-'")
	}
	return func(ctx context.Context, last **seen) (*seen, error) { return wanted.see(ctx, repository, last, find) }, nil
}

func validTag(repository name.Repository, tag string) bool {
	_, err := name.NewTag(repository.Name()+":"+tag, name.WeakValidation)
	return tag == "" || err == nil
}

// find returns the tag and the digest of the highest version.
func (v *versionRange) find(ctx context.Context, g *registry) (string, v1.Hash, error) {
	tags, err := g.tags(ctx)
	if err != nil {
		return "", v1.Hash{}, attempted(reasonRead, "list the tags of "+shown(g.repository), err)
	}
	tag, ok := v.highest(tags)
	if !ok {
		filtered := ""
		if v.filter != nil {
			filtered = " that matches spec.ref.semverFilter"
		}
		return "", v1.Hash{}, upstream.Failed(reasonRead, nil, "none of the %d tags of %s is a version within spec.ref.semver '%s'%s",
			len(tags), shown(g.repository), v.text, filtered)
	}
	return g.resolve(ctx, tag)
}

// resolve returns a tag with its digest.
func (g *registry) resolve(ctx context.Context, tag string) (string, v1.Hash, error) {
	digest, err := g.digestOf(ctx, tag)
	return tag, digest, attempted(reasonPull, "resolve "+shown(g.repository)+":"+tag, err)
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
		return nil, attempted(reasonPull, "read the manifest of "+shown(repository)+"@"+digest.String(), err)
	}
	return &seen{tag, digest, manifest, size, g}, nil
}

// imageManifest reads the manifest of an artifact; as in Flux, that of an index for linux/amd64.
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
		return nil, 0, upstream.Failed(reasonPull, nil, "%s@%s is not an artifact: its manifest has an unsupported type", shown(g.repository), digest)
	}
	return manifest, len(content), nil
}

func platformOf(index *v1.IndexManifest) (v1.Hash, error) {
	for _, child := range index.Manifests {
		if child.MediaType.IsImage() && (child.Platform == nil || child.Platform.OS == "linux" && child.Platform.Architecture == "amd64") {
			return child.Digest, nil
		}
	}
	return v1.Hash{}, upstream.Failed(reasonPull, nil, "the artifact is an index without a manifest for linux/amd64")
}
