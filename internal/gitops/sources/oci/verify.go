// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

const (
	// maxSignatures bounds how many signatures of a kind are looked at. Whoever may push can leave
	// any number of them beside an artifact; if that hides the right one, the artifact is not
	// verified.
	maxSignatures = 64
	maxSignature  = 1 << 20

	simpleSigning   = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureKey    = "dev.cosignproject.cosign/signature"
	simpleSignature = "cosign container image signature"

	// rememberVerified is how long a signature that was found counts without being looked for
	// again: both it and what it signs are named by digests.
	rememberVerified = 24 * time.Hour
)

// verify finds a signature of one of the keys over the artifact's digest, and names the key.
func (c *Client) verify(ctx context.Context, r *Repository, found *seen) (string, error) {
	name := shown(found.registry.repository) + "@" + found.digest.String()
	key := r.identity("verify", append(r.Verify.parts(), found.digest.String())...)
	options := upstream.Options{MaxAge: rememberVerified, Timeout: r.Timeout}
	signer, err := c.verified.Look(ctx, key, options, func(ctx context.Context, _ *string) (string, error) {
		search := &search{registry: found.registry, verification: r.Verify, digest: found.digest}
		return search.run(ctx, name)
	})
	return signer, asFetchError(reasonVerification, "look for signatures of "+name, err)
}

// search looks through the signatures of one digest.
type search struct {
	registry     *registry
	verification *Verification
	digest       v1.Hash
	seen         int
	others       int // signed by one of the keys, but something else
}

func (s *search) run(ctx context.Context, name string) (string, error) {
	for _, look := range []func(context.Context) (string, error){s.bundles, s.classic} {
		signer, err := look(ctx)
		if err != nil || signer != "" {
			return signer, err
		}
	}
	switch {
	case s.seen == 0:
		return "", failure(reasonVerification, "%s is not signed, but spec.verify requires a signature by cosign", nil, name)
	case s.others > 0:
		return "", failure(reasonVerification, "%s: %d signatures are by a key of spec.verify.secretRef, but not for this artifact", nil, name, s.others)
	}
	return "", failure(reasonVerification, "%s: none of the %d checked signatures is by a key of spec.verify.secretRef", nil, name, s.seen)
}

// classic looks at the layers of the tag sha256-….sig: each a document that names a digest, and its
// signature.
func (s *search) classic(ctx context.Context) (string, error) {
	content, err := s.registry.manifestBytes(ctx, s.digest.Algorithm+"-"+s.digest.Hex+".sig")
	if statusOf(err) == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(content))
	if err != nil {
		return "", malformed("the manifest of the signatures", err)
	}
	for _, layer := range manifest.Layers {
		encoded := layer.Annotations[signatureKey]
		if layer.MediaType != simpleSigning || encoded == "" {
			continue
		}
		if s.seen++; s.seen > maxSignatures {
			break
		}
		sig, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		payload, err := s.registry.smallBlob(ctx, layer, maxSignature)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err != nil {
			continue // one that is broken does not keep others from counting
		}
		if signer, ok := s.verification.signer(payload, sig); ok {
			if s.simpleNames(payload) {
				return signer, nil
			}
			s.others++
		}
	}
	return "", nil
}

// simpleNames tells whether a document of the classic kind is about the digest. As with cosign, the
// name of the image in it does not count: artifacts are copied between registries together with
// their signatures.
func (s *search) simpleNames(payload []byte) bool {
	var document struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	err := json.Unmarshal(payload, &document)
	return err == nil && document.Critical.Type == simpleSignature && document.Critical.Image.Digest == s.digest.String()
}
