// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// selfSigned returns a certificate and its key, in PEM.
func selfSigned(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	pkcs8, err2 := x509.MarshalPKCS8PrivateKey(private)
	if errors.Join(err, err2) != nil {
		t.Fatal(err, err2)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// signer signs like cosign.
type signer struct {
	signature.Signer
	public []byte
}

func newSigner(t *testing.T, private crypto.PrivateKey, load func(crypto.PrivateKey) (signature.Signer, error)) *signer {
	t.Helper()
	inner, err := load(private)
	if err != nil {
		t.Fatal(err)
	}
	public, err := inner.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := cryptoutils.MarshalPublicKeyToPEM(public)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{inner, encoded}
}

func withSHA256(private crypto.PrivateKey) (signature.Signer, error) {
	return signature.LoadSigner(private, crypto.SHA256)
}

func ecdsaSigner(t *testing.T) *signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return newSigner(t, private, withSHA256)
}

func (s *signer) sign(t *testing.T, message []byte) []byte {
	t.Helper()
	sig, err := s.SignMessage(bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func (s *signer) verification(t *testing.T, more ...*signer) *Verification {
	t.Helper()
	keys := map[string][]byte{"cosign.pub": s.public}
	for i, other := range more {
		keys[fmt.Sprintf("other-%d.pub", i)] = other.public
	}
	v, err := NewVerification(keys)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// simple returns the document that cosign signs.
func simple(digest v1.Hash) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"elsewhere/x"},"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}`, digest)
}

// classicSignature is a payload and its presumed signature.
type classicSignature struct{ payload, sig []byte }

func pushClassic(t *testing.T, registry *ocitest.Registry, digest v1.Hash, signatures ...classicSignature) {
	t.Helper()
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, s := range signatures {
		var err error
		image, err = mutate.Append(image, mutate.Addendum{
			Layer: static.NewLayer(s.payload, simpleSigning), Annotations: map[string]string{signatureKey: base64.StdEncoding.EncodeToString(s.sig)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pushImage(t, registry, digest.Algorithm+"-"+digest.Hex+".sig", image)
}

// statement returns the signed content of bundles of newer versions of cosign.
func statement(predicate string, digest v1.Hash) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%s"},"annotations":{}}],"predicateType":"%s","predicate":{}}`, digest.Hex, predicate)
}

func (s *signer) bundle(t *testing.T, payloadType string, payload []byte) []byte {
	t.Helper()
	return bundleOf(payloadType, payload, s.sign(t, preAuthentication(payloadType, payload)))
}

func bundleOf(payloadType string, payload, sig []byte) []byte {
	return fmt.Appendf(nil, `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"x"}},"dsseEnvelope":{"payload":"%s","payloadType":"%s","signatures":[{"sig":"%s"}]}}`,
		base64.StdEncoding.EncodeToString(payload), payloadType, base64.StdEncoding.EncodeToString(sig))
}

// pushBundle pushes a bundle as an OCI referrer of an artifact.
func pushBundle(t *testing.T, registry *ocitest.Registry, subject v1.Hash, bundle []byte) {
	t.Helper()
	const bundleType = bundlePrefix + ".v0.3+json"
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), bundleType),
		mutate.Addendum{Layer: static.NewLayer(bundle, bundleType)})
	if err != nil {
		t.Fatal(err)
	}
	referring, ok := mutate.Subject(image, v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: subject}).(v1.Image)
	if !ok {
		t.Fatal("the artifact is not an image")
	}
	digest, err := referring.Digest()
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(registry.Host()+"/"+app+"@"+digest.String(), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, referring, remote.WithUserAgent("ocitest")); err != nil {
		t.Fatal(err)
	}
}

func pushIndex(t *testing.T, registry *ocitest.Registry, index v1.ImageIndex) {
	t.Helper()
	reference, err := name.NewTag(registry.Host()+"/"+app+":latest", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(reference, index, remote.WithUserAgent("ocitest")); err != nil {
		t.Fatal(err)
	}
}

func TestSignaturesByKeysOfEveryKind(t *testing.T) {
	p256, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, err2 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	rsaKey, err3 := rsa.GenerateKey(rand.Reader, 2048)
	_, edwards, err4 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for kind, s := range map[string]*signer{
		"ECDSA P-256":              newSigner(t, p256, withSHA256),
		"ECDSA P-384":              newSigner(t, p384, withSHA256),
		"ECDSA P-384 with SHA-384": newSigner(t, p384, func(k crypto.PrivateKey) (signature.Signer, error) { return signature.LoadSigner(k, crypto.SHA384) }),
		"RSA":                      newSigner(t, rsaKey, withSHA256),
		"Ed25519":                  newSigner(t, edwards, withSHA256),
		"Ed25519ph":                newSigner(t, edwards, func(crypto.PrivateKey) (signature.Signer, error) { return signature.LoadED25519phSigner(edwards) }),
	} {
		for format, push := range map[string]func(*ocitest.Registry, v1.Hash){
			"classic": func(r *ocitest.Registry, d v1.Hash) {
				pushClassic(t, r, d, classicSignature{simple(d), s.sign(t, simple(d))})
			},
			"bundle": func(r *ocitest.Registry, d v1.Hash) {
				pushBundle(t, r, d, s.bundle(t, inTotoPayload, statement(signPredicate, d)))
			},
		} {
			t.Run(kind+", "+format, func(t *testing.T) {
				registry := ocitest.New(t)
				digest := pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "a")))
				push(registry, digest)
				signed := wanted(registry, func(r *Repository) { r.Verify = s.verification(t, ecdsaSigner(t)) })
				if artifact := look(t, New(), signed, false); artifact.Verified != "cosign.pub" {
					t.Errorf("verified by %q", artifact.Verified)
				}
			})
		}
	}
}

func TestSignaturesOfSigstoresLibraryCount(t *testing.T) {
	s := ecdsaSigner(t)
	for format, push := range map[string]func(*ocitest.Registry, v1.Hash){
		"classic": func(r *ocitest.Registry, d v1.Hash) {
			image, err := name.NewDigest("registry.example.com/x@" + d.String())
			if err != nil {
				t.Fatal(err)
			}
			document, err := payload.Cosign{Image: image}.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			pushClassic(t, r, d, classicSignature{document, s.sign(t, document)})
		},
		"envelope": func(r *ocitest.Registry, d v1.Hash) {
			envelope, err := dsse.WrapSigner(s.Signer, inTotoPayload).SignMessage(bytes.NewReader(statement(signPredicate, d)))
			if err != nil {
				t.Fatal(err)
			}
			pushBundle(t, r, d, fmt.Appendf(nil, `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":%s}`, envelope))
		},
	} {
		t.Run(format, func(t *testing.T) {
			registry := ocitest.New(t)
			push(registry, pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "a"))))
			look(t, New(), wanted(registry, func(r *Repository) { r.Verify = s.verification(t) }), false)
		})
	}
}

func TestSignaturesThatDoNotCount(t *testing.T) {
	good, stranger := ecdsaSigner(t), ecdsaSigner(t)
	other := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("ab", 32)}
	bySimple := func(s *signer, payload []byte) classicSignature {
		return classicSignature{payload, s.sign(t, payload)}
	}
	for sentence, c := range map[string]struct {
		push    func(*ocitest.Registry, v1.Hash)
		message string
	}{
		"no signature": {func(*ocitest.Registry, v1.Hash) {}, "is not signed"},
		"a signature by another key": {func(r *ocitest.Registry, d v1.Hash) { pushClassic(t, r, d, bySimple(stranger, simple(d))) },
			"none of the 1 checked signatures is by a key"},
		"a signature of another digest": {func(r *ocitest.Registry, d v1.Hash) { pushClassic(t, r, d, bySimple(good, simple(other))) },
			"1 signatures are by a key of spec.verify.secretRef, but not for this artifact"},
		"a payload that was swapped": {func(r *ocitest.Registry, d v1.Hash) {
			pushClassic(t, r, d, classicSignature{simple(d), good.sign(t, simple(other))})
		}, "none of the 1 checked signatures"},
		"a payload of another kind": {func(r *ocitest.Registry, d v1.Hash) {
			pushClassic(t, r, d, bySimple(good, bytes.ReplaceAll(simple(d), []byte("cosign container image signature"), []byte("atomic"))))
		}, "not for this artifact"},
		"a payload that is no JSON": {func(r *ocitest.Registry, d v1.Hash) { pushClassic(t, r, d, bySimple(good, []byte(d.String()))) }, "not for this artifact"},
		"an empty signature":        {func(r *ocitest.Registry, d v1.Hash) { pushClassic(t, r, d, classicSignature{simple(d), nil}) }, "is not signed"},
		"the signature of nothing": {func(r *ocitest.Registry, d v1.Hash) {
			pushClassic(t, r, d, classicSignature{simple(d), good.sign(t, nil)})
		}, "none of the 1"},
		"many signatures by strangers": {func(r *ocitest.Registry, d v1.Hash) { pushClassic(t, r, d, many(bySimple(stranger, simple(d)), 10)...) }, "none of the 10"},
		"a bundle by another key": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, stranger.bundle(t, inTotoPayload, statement(signPredicate, d)))
		}, "none of the 1"},
		"a bundle about another digest": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, good.bundle(t, inTotoPayload, statement(signPredicate, other)))
		}, "not for this artifact"},
		"a statement that is no signature": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, good.bundle(t, inTotoPayload, statement("https://cosign.sigstore.dev/attestation/vuln/v1", d)))
		}, "not for this artifact"},
		"a statement of another type": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, good.bundle(t, inTotoPayload, bytes.ReplaceAll(statement(signPredicate, d), []byte("in-toto.io"), []byte("example.com"))))
		}, "not for this artifact"},
		"an envelope of another type": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, good.bundle(t, "text/plain", statement(signPredicate, d)))
		}, "none of the 1"},
		"a statement whose envelope was left away": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, bundleOf(inTotoPayload, statement(signPredicate, d), good.sign(t, statement(signPredicate, d))))
		}, "none of the 1"},
		"the classic document in a bundle": {func(r *ocitest.Registry, d v1.Hash) { pushBundle(t, r, d, good.bundle(t, inTotoPayload, simple(d))) }, "not for this artifact"},
		"a bundle that is no JSON":         {func(r *ocitest.Registry, d v1.Hash) { pushBundle(t, r, d, []byte("{")) }, "none of the 1"},
		"a bundle that is too large": {func(r *ocitest.Registry, d v1.Hash) {
			pushBundle(t, r, d, append(good.bundle(t, inTotoPayload, statement(signPredicate, d)), bytes.Repeat([]byte(" "), maxSignature)...))
		}, "none of the 1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			registry := ocitest.New(t)
			digest := pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "a")))
			c.push(registry, digest)
			_, err := New().Look(t.Context(), wanted(registry, func(r *Repository) { r.Verify = good.verification(t) }), false)
			wantFailure(t, err, reasonVerification, false, c.message)
		})
	}
}

func many(s classicSignature, n int) []classicSignature {
	all := make([]classicSignature, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func TestTheRightSignatureAmongOthers(t *testing.T) {
	good, stranger := ecdsaSigner(t), ecdsaSigner(t)
	registry := ocitest.New(t)
	digest := pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "a")))
	right := classicSignature{simple(digest), good.sign(t, simple(digest))}
	wrong := classicSignature{simple(digest), stranger.sign(t, simple(digest))}
	verified := wanted(registry, func(r *Repository) { r.Verify = good.verification(t) })
	pushClassic(t, registry, digest, append(many(wrong, maxSignatures-1), right)...)
	look(t, New(), verified, false)
	pushClassic(t, registry, digest, append(many(wrong, maxSignatures), right)...)
	_, err := New().Look(t.Context(), verified, false)
	wantFailure(t, err, reasonVerification, false, "none of the")
	registry.Reset()
	if _, err := New().Look(t.Context(), verified, false); err == nil {
		t.Error("the artifact was verified")
	}
	if blobs := registry.Counts(app).Blobs; blobs > maxSignatures {
		t.Errorf("%d signatures were downloaded", blobs)
	}
	// Bundles of others do not hide a classic signature.
	pushBundle(t, registry, digest, stranger.bundle(t, inTotoPayload, statement(signPredicate, digest)))
	pushClassic(t, registry, digest, right)
	look(t, New(), verified, false)
}

func TestAFoundSignatureIsRemembered(t *testing.T) {
	good, stranger := ecdsaSigner(t), ecdsaSigner(t)
	registry := ocitest.New(t)
	digest := pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "a")))
	pushClassic(t, registry, digest, classicSignature{simple(digest), good.sign(t, simple(digest))})
	client := New()
	verified := wanted(registry, func(r *Repository) { r.Verify = good.verification(t) })
	look(t, client, verified, false)
	registry.Reset()
	look(t, client, verified, true)
	if got := registry.Counts(app); got.Blobs != 0 || got.Manifests != 1 {
		t.Errorf("the second look caused %+v", got)
	}
	// Other keys and artifacts require another search.
	_, err := client.Look(t.Context(), wanted(registry, func(r *Repository) { r.Verify = stranger.verification(t) }), false)
	wantFailure(t, err, reasonVerification, false, "")
	pushLayers(t, registry, "latest", layerType, string(targz(t, "a", "moved")))
	_, err = client.Look(t.Context(), verified, true)
	wantFailure(t, err, reasonVerification, false, "is not signed")
}

func TestInvalidKeys(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	short, err := cryptoutils.MarshalPublicKeyToPEM(weak.Public())
	if err != nil {
		t.Fatal(err)
	}
	tooMany := map[string][]byte{}
	for i := range maxKeys + 1 {
		tooMany[fmt.Sprint(i, ".pub")] = nil
	}
	for want, keys := range map[string]map[string][]byte{
		"it has 0 public keys":          nil,
		"it has 33 public keys":         tooMany,
		"a.pub: it is not a public key": {"a.pub": []byte("nonsense")},
		"a.pub: the key is too weak":    {"a.pub": short},
	} {
		if _, err := NewVerification(keys); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
