// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// Flux's reasons.
const (
	reasonURLInvalid     = "URLInvalid"
	reasonAuthentication = "AuthenticationFailed"
	reasonRead           = "ReadOperationFailed"
	reasonPull           = "OCIArtifactPullFailed"
	reasonLayer          = "OCIArtifactLayerOperationFailed"
	reasonVerification   = "VerificationError"
)

const scheme = "oci://"

// Repository describes an artifact's repository and how to access it.
type Repository struct {
	// URL is oci://registry/repository.
	URL string
	// Digest overrides SemVer, SemVer overrides Tag; the default is the tag latest. SemverFilter is
	// a regular expression that selects tags before they are parsed as versions.
	Digest, SemVer, SemverFilter, Tag string
	// Insecure allows a registry without TLS.
	Insecure bool
	// MediaType selects the layer; the first one if empty. Copy keeps it unchanged instead of
	// packing its tree.
	MediaType string
	Copy      bool
	// Access says how to reach the registry, Credentials as whom.
	Access      upstream.Access
	Credentials Credentials
	// Verify requires a signature; nil does not.
	Verify *Verification
	// Timeout limits a look and, separately, a fetch. MaxAge is the maximum age of a shared look.
	Timeout, MaxAge time.Duration
	// Limits limit the layer and its tree.
	Limits archive.Limits
}

// parse reads the URL. Its errors do not quote it: people put passwords into URLs.
func (r *Repository) parse() (name.Repository, error) {
	rest, ok := strings.CutPrefix(r.URL, scheme)
	if !ok || strings.ContainsAny(rest, "@?# ") {
		return name.Repository{}, upstream.Stalled(reasonURLInvalid, nil, "write spec.url as oci://registry/repository, without credentials, digest or query")
	}
	if _, path, _ := strings.Cut(rest, "/"); strings.Contains(path, ":") {
		return name.Repository{}, upstream.Stalled(reasonURLInvalid, nil, "spec.url must not have a tag; name it in spec.ref.tag")
	}
	var options []name.Option
	if r.Insecure {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(rest, options...)
	if err != nil {
		return name.Repository{}, upstream.Stalled(reasonURLInvalid, nil, "write spec.url as oci://registry/repository; the repository is made of lower-case letters, digits, '.', '_', '-' and '/'")
	}
	return repository, nil
}

// shown returns the repository for errors.
func shown(repository name.Repository) string {
	return scheme + repository.RegistryStr() + "/" + repository.RepositoryStr()
}

// wantedDigest returns the requested digest.
func (r *Repository) wantedDigest() (v1.Hash, error) {
	digest, err := v1.NewHash(r.Digest)
	if err != nil {
		return v1.Hash{}, upstream.Stalled(reasonPull, err, "spec.ref.digest is not a valid digest: use sha256: and 64 lower-case hexadecimal digits")
	}
	return digest, nil
}
