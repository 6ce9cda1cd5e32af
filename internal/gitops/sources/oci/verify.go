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
	// maxSignatures limits the signatures of a kind: everyone who may push can add any number. If
	// that hides the right one, the artifact is not verified.
	maxSignatures = 64
	maxSignature  = 1 << 20

	simpleSigning   = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureKey    = "dev.cosignproject.cosign/signature"
	simpleSignature = "cosign container image signature"

	// rememberVerified is how long a found signature is valid without another search: digests
	// identify both it and the signed artifact.
	rememberVerified = 24 * time.Hour
)

// verify finds a signature of the artifact's digest, and returns the name of its key.
func (c *Client) verify(ctx context.Context, r *Repository, found *seen) (string, error) {
	name := shown(found.registry.repository) + "@" + found.digest.String()
	key := r.identity("verify", append(r.Verify.parts(), found.digest.String())...)
	options := upstream.Options{MaxAge: rememberVerified, Timeout: r.Timeout}
	signer, err := c.verified.Look(ctx, key, options, func(ctx context.Context, _ *string) (string, error) {
		search := &search{registry: found.registry, verification: r.Verify, digest: found.digest}
		return search.run(ctx, name)
	})
	return signer, attempted(reasonVerification, "find signatures of "+name, err)
}

// search is a search through the signatures of one digest.
type search struct {
	registry     *registry
	verification *Verification
	digest       v1.Hash
	seen         int
	others       int // by one of the keys, for something else
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
		return "", upstream.Failed(reasonVerification, nil, "%s is not signed, but spec.verify requires a signature by cosign", name)
	case s.others > 0:
		return "", upstream.Failed(reasonVerification, nil, "%s: %d signatures are by a key of spec.verify.secretRef, but not for this artifact", name, s.others)
	}
	return "", upstream.Failed(reasonVerification, nil, "%s: none of the %d checked signatures is by a key of spec.verify.secretRef", name, s.seen)
}

// classic checks the layers of the tag sha256-….sig: documents that name a digest, with signatures.
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
			continue // other signatures still count
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

// simpleNames reports whether a classic document is about the digest. As in cosign, the name in it
// does not matter: artifacts are copied between registries with their signatures.
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
