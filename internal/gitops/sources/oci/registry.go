// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/kit/outbound"
)

const (
	// maxManifest is the size that registries must accept by the specification.
	maxManifest = 4 << 20
	// maxAnswer limits responses other than layers: pages of tags, tokens, errors.
	maxAnswer = 16 << 20
	// maxPages and maxTags limit a list of tags; a page has up to a thousand of them.
	maxPages, maxTags = 200, 200_000
	userAgent         = "yuba"
	// redirects is the maximum number of redirects: registries store blobs on other servers.
	redirects = 10
)

var manifestTypes = strings.Join([]string{
	string(types.OCIManifestSchema1), string(types.OCIImageIndex),
	string(types.DockerManifestSchema2), string(types.DockerManifestList),
}, ",")

// registry is an authenticated client for one repository.
type registry struct {
	repository name.Repository
	client     *http.Client
}

// connect authenticates in the way that the registry requires.
func (r *Repository) connect(ctx context.Context, repository name.Repository) (*registry, error) {
	plain, err := r.Access.Transport()
	if err != nil {
		return nil, upstream.Failed(reasonAuthentication, err, "use the certificates of spec.certSecretRef: %s", err)
	}
	var way http.RoundTripper = plain
	if !r.Insecure && len(r.Access.CA)+len(r.Access.Certificate) > 0 {
		way = tlsOnly{plain, repository.RegistryStr()}
	}
	polite := transport.NewUserAgent(upstream.Bounded(transport.NewRetry(way,
		transport.WithRetryBackoff(transport.Backoff{Duration: 200 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 2}),
		transport.WithRetryStatusCodes(http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout),
	), maxAnswer), userAgent)
	known := r.Credentials.authenticator(repository)
	authenticated, err := transport.NewWithContext(ctx, repository.Registry, known, polite, []string{repository.Scope(transport.PullScope)})
	if err != nil {
		return nil, err
	}
	return &registry{repository, &http.Client{Transport: authenticated, CheckRedirect: outbound.Follow(redirects)}}, nil
}

// tlsOnly refuses http. The library tries it with registries at private addresses; with
// certificates in the source, that would let a machine in between disable TLS.
type tlsOnly struct {
	inner    http.RoundTripper
	registry string
}

func (o tlsOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "http" && request.URL.Host == o.registry {
		return nil, errPlain
	}
	return o.inner.RoundTrip(request)
}

// do sends a request for a path of the repository. Every status but 200 is an error.
func (g *registry) do(ctx context.Context, method, path, accept string) (*http.Response, error) {
	address := url.URL{Scheme: g.repository.Scheme(), Host: g.repository.RegistryStr(), Path: "/v2/" + g.repository.RepositoryStr() + "/" + path}
	return g.get(ctx, method, address.String(), accept)
}

func (g *registry) get(ctx context.Context, method, address, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	return response, nil
}

// digestOf returns the digest of a tag. For registries that do not report it, it reads the manifest.
func (g *registry) digestOf(ctx context.Context, tag string) (v1.Hash, error) {
	response, err := g.do(ctx, http.MethodHead, "manifests/"+tag, manifestTypes)
	if err == nil {
		digest, parse := v1.NewHash(response.Header.Get("Docker-Content-Digest"))
		if err := response.Body.Close(); err == nil && parse == nil {
			return digest, nil
		}
	}
	if ctx.Err() != nil {
		return v1.Hash{}, context.Cause(ctx)
	}
	content, err := g.manifestBytes(ctx, tag)
	if err != nil {
		return v1.Hash{}, err
	}
	digest, _, err := v1.SHA256(bytes.NewReader(content))
	return digest, err
}

// manifest reads and verifies the manifest with a digest.
func (g *registry) manifest(ctx context.Context, digest v1.Hash) ([]byte, error) {
	content, err := g.manifestBytes(ctx, digest.String())
	if err != nil {
		return nil, err
	}
	return content, verifyDigest(content, digest)
}

func (g *registry) manifestBytes(ctx context.Context, reference string) ([]byte, error) {
	response, err := g.do(ctx, http.MethodGet, "manifests/"+reference, manifestTypes)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return upstream.ReadAll(response.Body, "the size of the manifest in bytes", maxManifest)
}

// tags lists all tags. It does not follow pages on other servers.
func (g *registry) tags(ctx context.Context) ([]string, error) {
	address := url.URL{Scheme: g.repository.Scheme(), Host: g.repository.RegistryStr(), Path: "/v2/" + g.repository.RepositoryStr() + "/tags/list", RawQuery: "n=1000"}
	next, all := &address, []string(nil)
	asked := map[string]bool{}
	for range maxPages {
		if asked[next.String()] {
			return nil, errSamePage
		}
		asked[next.String()] = true
		tags, link, err := g.tagPage(ctx, next)
		if err != nil {
			return nil, err
		}
		if all = append(all, tags...); len(all) > maxTags {
			return nil, &archive.LimitError{What: "the number of tags", Limit: maxTags}
		}
		if link == nil {
			return all, nil
		}
		if link.Host != address.Host || link.User != nil || link.Scheme != "http" && link.Scheme != "https" {
			return nil, errForeignPage
		}
		link.Scheme, next = address.Scheme, link
	}
	return nil, &archive.LimitError{What: "the number of pages of tags", Limit: maxPages}
}

func (g *registry) tagPage(ctx context.Context, address *url.URL) ([]string, *url.URL, error) {
	response, err := g.get(ctx, http.MethodGet, address.String(), "application/json")
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	var page struct {
		Tags []string `json:"tags"`
	}
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		return nil, nil, malformed("the list of tags", err)
	}
	link, _, found := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !found || link == "" {
		return page.Tags, nil, nil
	}
	next, err := address.Parse(link)
	if err != nil {
		return nil, nil, malformed("the address of the next page of tags", err)
	}
	return page.Tags, next, nil
}

// blob opens a blob. Reading ends in an error unless the digest and the size match.
func (g *registry) blob(ctx context.Context, digest v1.Hash, size int64) (io.ReadCloser, error) {
	hasher, err := v1.Hasher(digest.Algorithm)
	if err != nil {
		return nil, err
	}
	response, err := g.do(upstream.Content(ctx), http.MethodGet, "blobs/"+digest.String(), "")
	if err != nil {
		return nil, err
	}
	return &verifiedBlob{body: response.Body, hash: hasher, want: digest, left: size}, nil
}

// smallBlob reads a blob of at most limit bytes.
func (g *registry) smallBlob(ctx context.Context, of v1.Descriptor, limit int64) ([]byte, error) {
	if of.Size > limit || of.Size < 0 {
		return nil, &archive.LimitError{What: "the size of a signature in bytes", Limit: limit}
	}
	r, err := g.blob(ctx, of.Digest, of.Size)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // reading to the end verifies it
	return io.ReadAll(r)
}

// referrers lists the manifests that refer to a digest, from the API or from the tag instead of it.
func (g *registry) referrers(ctx context.Context, digest v1.Hash) ([]v1.Descriptor, error) {
	content, err := g.referrersIndex(ctx, digest)
	if err != nil || content == nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(content))
	if err != nil {
		return nil, malformed("the list of what refers to the artifact", err)
	}
	return index.Manifests, nil
}

func (g *registry) referrersIndex(ctx context.Context, digest v1.Hash) ([]byte, error) {
	response, err := g.do(ctx, http.MethodGet, "referrers/"+digest.String(), string(types.OCIImageIndex))
	if err == nil {
		defer response.Body.Close()
		if strings.HasPrefix(response.Header.Get("Content-Type"), string(types.OCIImageIndex)) {
			return upstream.ReadAll(response.Body, "the size of the list of referrers in bytes", maxManifest)
		}
	} else if status := statusOf(err); status != http.StatusNotFound && status != http.StatusBadRequest && status != http.StatusNotAcceptable && status != http.StatusMethodNotAllowed {
		return nil, err
	}
	content, err := g.manifestBytes(ctx, digest.Algorithm+"-"+digest.Hex)
	if statusOf(err) == http.StatusNotFound {
		return nil, nil
	}
	return content, err
}
