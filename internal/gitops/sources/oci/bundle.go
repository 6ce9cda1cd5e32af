// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Newer versions of cosign write bundles that refer to the artifact. A bundle contains an envelope
// with a signed statement, whose subject is the artifact.
const (
	bundlePrefix  = "application/vnd.dev.sigstore.bundle"
	inTotoPayload = "application/vnd.in-toto+json"
	// signPredicate marks signatures. Other statements about the digest, such as scan results, may
	// be signed with the same keys, but do not approve the artifact.
	signPredicate   = "https://sigstore.dev/cosign/sign/v1"
	maxPerEnvelope  = 8
	maxBundleLayers = 4
)

var inTotoStatements = []string{"https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"}

// bundles checks the bundles that refer to the digest.
func (s *search) bundles(ctx context.Context) (string, error) {
	referrers, err := s.registry.referrers(ctx, s.digest)
	if err != nil {
		return "", err
	}
	looked := 0
	for _, referrer := range referrers {
		// Some registries do not list artifact types.
		if referrer.ArtifactType != "" && !strings.HasPrefix(referrer.ArtifactType, bundlePrefix) {
			continue
		}
		if looked++; looked > maxSignatures {
			break
		}
		signer, err := s.bundle(ctx, referrer)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err == nil && signer != "" {
			return signer, nil
		}
	}
	return "", nil
}

// bundle checks one bundle. After an error, other bundles still count.
func (s *search) bundle(ctx context.Context, referrer v1.Descriptor) (string, error) {
	content, err := s.registry.manifest(ctx, referrer.Digest)
	if err != nil {
		return "", err
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	for i, layer := range manifest.Layers {
		if i >= maxBundleLayers || !strings.HasPrefix(string(layer.MediaType), bundlePrefix) {
			continue
		}
		s.seen++
		bundle, err := s.registry.smallBlob(ctx, layer, maxSignature)
		if err != nil {
			return "", err
		}
		if signer := s.envelope(bundle); signer != "" {
			return signer, nil
		}
	}
	return "", nil
}

// envelope returns the name of the key that signed the digest; empty if the envelope does not do so.
func (s *search) envelope(bundle []byte) string {
	var document struct {
		Envelope *struct {
			Payload     string `json:"payload"`
			PayloadType string `json:"payloadType"`
			Signatures  []struct {
				Sig string `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	if json.Unmarshal(bundle, &document) != nil || document.Envelope == nil || document.Envelope.PayloadType != inTotoPayload {
		return ""
	}
	payload, err := decode64(document.Envelope.Payload)
	if err != nil {
		return ""
	}
	signed := preAuthentication(document.Envelope.PayloadType, payload)
	for i, candidate := range document.Envelope.Signatures {
		if i >= maxPerEnvelope {
			break
		}
		sig, err := decode64(candidate.Sig)
		if err != nil {
			continue
		}
		signer, ok := s.verification.signer(signed, sig)
		if !ok {
			continue
		}
		if s.statementNames(payload) {
			return signer
		}
		s.others++
	}
	return ""
}

// preAuthentication returns the signed bytes of an envelope, as specified by DSSE.
func preAuthentication(payloadType string, payload []byte) []byte {
	return append(fmt.Appendf(nil, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload)), payload...)
}

// statementNames reports whether a statement is a signature of the digest.
func (s *search) statementNames(payload []byte) bool {
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(payload, &statement) != nil || !slices.Contains(inTotoStatements, statement.Type) || statement.PredicateType != signPredicate {
		return false
	}
	for _, subject := range statement.Subject {
		if subject.Digest[s.digest.Algorithm] == s.digest.Hex {
			return true
		}
	}
	return false
}

// decode64 accepts both alphabets of base64, like protobuf's JSON format.
func decode64(text string) ([]byte, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return base64.URLEncoding.DecodeString(text)
	}
	return decoded, nil
}
