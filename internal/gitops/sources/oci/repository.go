// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
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

// Repository says what is wanted, from where, and as whom it is asked for.
type Repository struct {
	// URL is oci://registry/repository.
	URL string
	// Digest wins over SemVer, SemVer over Tag; without any of them it is the tag latest. SemverFilter is a regular
	// expression that tags must match before they are taken for versions.
	Digest, SemVer, SemverFilter, Tag string
	// Insecure allows for a registry without TLS.
	Insecure bool
	// MediaType selects the layer, the first one if it is empty. Copy keeps it as it is instead of packing its tree.
	MediaType string
	Copy      bool
	// Access is how the registry is reached, Credentials are as whom.
	Access      upstream.Access
	Credentials Credentials
	// Verify asks for a signature; nil does not.
	Verify *Verification
	// Timeout bounds a look and, apart from it, a fetch. MaxAge is how old an answer of an earlier look may be.
	Timeout, MaxAge time.Duration
	// Limits bound the layer and its tree.
	Limits archive.Limits
}

// parse reads the URL. Its errors do not quote it: people put passwords into URLs.
func (r *Repository) parse() (name.Repository, error) {
	rest, ok := strings.CutPrefix(r.URL, scheme)
	if !ok || strings.ContainsAny(rest, "@?# ") {
		return name.Repository{}, invalidURL("write spec.url as oci://registry/repository, without credentials, digest or query")
	}
	if _, path, _ := strings.Cut(rest, "/"); strings.Contains(path, ":") {
		return name.Repository{}, invalidURL("spec.url must not have a tag; name it in spec.ref.tag")
	}
	var options []name.Option
	if r.Insecure {
		options = append(options, name.Insecure)
	}
	repository, err := name.NewRepository(rest, options...)
	if err != nil {
		return name.Repository{}, invalidURL("write spec.url as oci://registry/repository; the repository is made of lower-case letters, digits, '.', '_', '-' and '/'")
	}
	return repository, nil
}

// shown is the repository as errors name it.
func shown(repository name.Repository) string {
	return scheme + repository.RegistryStr() + "/" + repository.RepositoryStr()
}

// wantedDigest reads the digest that is asked for.
func (r *Repository) wantedDigest() (v1.Hash, error) {
	digest, err := v1.NewHash(r.Digest)
	if err != nil {
		return v1.Hash{}, &archive.FetchError{Reason: reasonPull, Stalled: true, Err: err,
			Message: "spec.ref.digest is no digest: write sha256: and 64 lower-case hexadecimal digits"}
	}
	return digest, nil
}

func invalidURL(message string) error {
	return &archive.FetchError{Reason: reasonURLInvalid, Message: message, Stalled: true}
}

func failure(reason, format string, cause error, args ...any) error {
	return &archive.FetchError{Reason: reason, Message: fmt.Sprintf(format, args...), Err: cause}
}
