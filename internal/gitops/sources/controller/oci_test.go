// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/identity"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// ref names something.
func ref(name string) *meta.LocalObjectReference { return &meta.LocalObjectReference{Name: name} }

// made makes objects in a namespace of the test's own, and returns a reader and that namespace.
func made(t *testing.T, objects ...client.Object) (client.Reader, string) {
	t.Helper()
	namespace := apitest.Namespace(t)
	for _, o := range objects {
		o.SetNamespace(namespace)
		if err := apitest.Client(t).Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return apitest.Client(t), namespace
}

func opaque(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
}

func dockerConfig(name, host, password string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte("reader:" + password))
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth)}}
}

// wantFetchError checks that an error is one for a source's status, without anything secret in it.
func wantFetchError(t *testing.T, err error, reason string, stalled bool, message string) {
	t.Helper()
	var failed *archive.FetchError
	if !errors.As(err, &failed) || failed.Reason != reason || failed.Stalled != stalled || !strings.Contains(failed.Message, message) {
		t.Errorf("got %#v, want %s (stalled: %v) with %q", err, reason, stalled, message)
	}
	if err != nil && strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error tells what it must not: %v", err)
	}
}

func TestWhatOCIRepositoriesReferTo(t *testing.T) {
	registry := ocitest.New(t, ocitest.TLS(), ocitest.BasicAuth("reader", "secret"))
	digest := registry.Push(t, "app", "latest", ocitest.Files{"a": "a"})
	reader, namespace := made(t,
		dockerConfig("login", registry.Host(), "secret"), dockerConfig("wrong", registry.Host(), "hunter2"),
		opaque("ca", map[string]string{"ca.crt": string(registry.CA())}), opaque("old-ca", map[string]string{"caFile": string(registry.CA())}),
		opaque("half", map[string]string{"tls.crt": "hunter2"}), opaque("nonsense", map[string]string{"ca.crt": "hunter2"}),
		opaque("proxy", map[string]string{"address": "ftp://user:hunter2@proxy"}), opaque("empty", nil),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "puller"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "login"}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "none"}}},
	)
	upstream := NewOCI(reader, archive.Limits{}, nil)
	look := func(change func(*sourcev1.OCIRepositorySpec)) (*Found, error) {
		o := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"},
			Spec: sourcev1.OCIRepositorySpec{URL: registry.URL("app"), SecretRef: ref("login"), CertSecretRef: ref("ca"), Interval: metav1.Duration{Duration: time.Hour}}}
		change(&o.Spec)
		return upstream.Look(t.Context(), o, false)
	}
	for sentence, change := range map[string]func(*sourcev1.OCIRepositorySpec){
		"a Secret and a CA":                             func(*sourcev1.OCIRepositorySpec) {},
		"a CA in an entry of older days":                func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef = ref("old-ca") },
		"the Secrets of a ServiceAccount":               func(s *sourcev1.OCIRepositorySpec) { s.SecretRef, s.ServiceAccountName = nil, "puller" },
		"no verification where there is no CA":          func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef, s.Insecure = nil, true },
		"a cloud's provider with credentials of a user": func(s *sourcev1.OCIRepositorySpec) { s.Provider = "aws" },
	} {
		if found, err := look(change); err != nil || found.Revision != "latest@"+digest || found.Fetch == nil || found.Archive != nil {
			t.Errorf("%s: %+v %v", sentence, found, err)
		}
	}
	for sentence, c := range map[string]struct {
		change  func(*sourcev1.OCIRepositorySpec)
		reason  string
		stalled bool
		message string
	}{
		"a Secret that is not":             {func(s *sourcev1.OCIRepositorySpec) { s.SecretRef = ref("none") }, "AuthenticationFailed", false, "secret '" + namespace + "/none'"},
		"a Secret of another namespace":    {func(s *sourcev1.OCIRepositorySpec) { s.SecretRef = ref("../" + namespace + "/login") }, "AuthenticationFailed", false, "failed to get secret"},
		"a Secret of another type":         {func(s *sourcev1.OCIRepositorySpec) { s.SecretRef = ref("ca") }, "AuthenticationFailed", false, "does not have .dockerconfigjson"},
		"a wrong password":                 {func(s *sourcev1.OCIRepositorySpec) { s.SecretRef = ref("wrong") }, "OCIArtifactPullFailed", false, "401"},
		"a ServiceAccount that is not":     {func(s *sourcev1.OCIRepositorySpec) { s.ServiceAccountName = "none" }, "AuthenticationFailed", false, "read the ServiceAccount " + namespace + "/none"},
		"a ServiceAccount without Secrets": {func(s *sourcev1.OCIRepositorySpec) { s.ServiceAccountName = "broken" }, "AuthenticationFailed", false, "secret '" + namespace + "/none'"},
		"half a certificate":               {func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef = ref("half") }, "AuthenticationFailed", false, "needs ca.crt, or tls.crt and tls.key"},
		"no certificate":                   {func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef = ref("empty") }, "AuthenticationFailed", false, "needs ca.crt"},
		"a certificate that is none":       {func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef = ref("nonsense") }, "AuthenticationFailed", false, "does not contain a certificate in PEM"},
		"a proxy that is none":             {func(s *sourcev1.OCIRepositorySpec) { s.ProxySecretRef = ref("proxy") }, "AuthenticationFailed", false, "configure the proxy"},
		"the cloud's identity":             {func(s *sourcev1.OCIRepositorySpec) { s.Provider, s.SecretRef = "azure", nil }, "InvalidProviderConfiguration", true, "which sources may not use"},
		"no CA, and yet to be verified":    {func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef = nil }, "OCIArtifactPullFailed", false, ""},
		"a signature without a key":        {func(s *sourcev1.OCIRepositorySpec) { s.Verify = verify("cosign", "") }, "VerificationError", true, "keyless signature, which is not supported"},
		"a signature by notation":          {func(s *sourcev1.OCIRepositorySpec) { s.Verify = verify("notation", "ca") }, "VerificationError", true, "spec.verify.provider notation is not supported"},
		"a Secret without keys":            {func(s *sourcev1.OCIRepositorySpec) { s.Verify = verify("cosign", "ca") }, "VerificationError", false, "it has 0 public keys"},
		"a Secret for keys that is not":    {func(s *sourcev1.OCIRepositorySpec) { s.Verify = verify("cosign", "none") }, "VerificationError", false, "secret '" + namespace + "/none'"},
		"a URL with a password":            {func(s *sourcev1.OCIRepositorySpec) { s.URL = "oci://user:hunter2@example.com/x" }, "URLInvalid", true, "without credentials"},
		"a range that is none":             {func(s *sourcev1.OCIRepositorySpec) { s.Reference = &sourcev1.OCIRepositoryRef{SemVer: "x.y"} }, "ReadOperationFailed", true, "not a version range"},
		"a layer that is not":              {func(s *sourcev1.OCIRepositorySpec) { s.LayerSelector = &sourcev1.OCILayerSelector{MediaType: "x/y"} }, "OCIArtifactLayerOperationFailed", false, "spec.layerSelector"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := look(c.change)
			wantFetchError(t, err, c.reason, c.stalled, c.message)
		})
	}
}

// With an administrator's permission, a source gets the server's credentials for the provider's own
// registries, and shows them to nobody else.
func TestServerIdentityOfOCIRepositories(t *testing.T) {
	registry := ocitest.New(t)
	reader, namespace := made(t, opaque("ca", map[string]string{"ca.crt": "x", "address": "http://proxy.example.com"}))
	allowed, err := identity.New([]string{"aws"})
	if err != nil {
		t.Fatal(err)
	}
	upstream := NewOCI(reader, archive.Limits{}, allowed)
	for sentence, c := range map[string]struct {
		change  func(*sourcev1.OCIRepositorySpec)
		message string
	}{
		"another provider":       {func(s *sourcev1.OCIRepositorySpec) { s.Provider = "gcp" }, "An administrator can allow it: --source-identities=gcp"},
		"a registry of somebody": {func(s *sourcev1.OCIRepositorySpec) { s.URL = registry.URL("app") }, "spec.url must be in a registry of the provider"},
		"a host that only looks like one": {func(s *sourcev1.OCIRepositorySpec) {
			s.URL = "oci://012345678901.dkr.ecr.eu-central-1.amazonaws.com.example.com/app"
		}, "spec.url must be in a registry of the provider"},
		"the seed's placeholder":     {func(s *sourcev1.OCIRepositorySpec) { s.URL = "oci://xxx.dkr.ecr.eu-central-1.amazonaws.com/iac/foo" }, "spec.url must be in a registry of the provider"},
		"an authority of the source": {func(s *sourcev1.OCIRepositorySpec) { s.CertSecretRef = ref("ca") }, "remove spec.insecure, spec.certSecretRef"},
		"a proxy of the source":      {func(s *sourcev1.OCIRepositorySpec) { s.ProxySecretRef = ref("ca") }, "spec.proxySecretRef"},
		"plain HTTP":                 {func(s *sourcev1.OCIRepositorySpec) { s.Insecure = true }, "remove spec.insecure"},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}, Spec: sourcev1.OCIRepositorySpec{
				URL: "oci://012345678901.dkr.ecr.eu-central-1.amazonaws.com/app", Provider: "aws", Interval: metav1.Duration{Duration: time.Hour}}}
			c.change(&o.Spec)
			_, err := upstream.Look(t.Context(), o, false)
			wantFetchError(t, err, "InvalidProviderConfiguration", true, c.message)
		})
	}
}

func verify(provider, secret string) *sourcev1.OCIRepositoryVerification {
	v := &sourcev1.OCIRepositoryVerification{Provider: provider}
	if secret != "" {
		v.SecretRef = ref(secret)
	}
	return v
}

// sign leaves a signature of cosign's classic kind beside an artifact.
func sign(t *testing.T, registry *ocitest.Registry, digest string, key *ecdsa.PrivateKey) {
	t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"identity":{},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"}}`, digest)
	sum := sha256.Sum256(payload)
	sig, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(sig)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := crane.Push(image, registry.Host()+"/app:"+strings.ReplaceAll(digest, ":", "-")+".sig", registry.Options()...); err != nil {
		t.Fatal(err)
	}
}

func TestOnlySignedArtifactsAreTaken(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	registry := ocitest.New(t)
	first := registry.Push(t, "app", "latest", ocitest.Files{"a": "1"})
	s := newSite(t, withRegistries)
	s.secret("keys", map[string]string{"cosign.pub": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))})
	o := s.image("app", registry.URL("app"), nil, func(o *sourcev1.OCIRepository) { o.Spec.Verify = verify("cosign", "keys") })
	s.awaitFailure(o, sourcev1.VerificationError)
	if verified := conditions.Of(o, sourcev1.SourceVerifiedCondition); verified.Status != metav1.ConditionFalse || !strings.Contains(verified.Message, "is not signed") || o.Status.Artifact != nil {
		t.Errorf("%v", conditionLines(o))
	}
	sign(t, registry, first, key)
	s.request(o, "signed")
	s.awaitRevision(o, "latest@"+first)
	want := "verified signature of revision latest@" + first + " with the key cosign.pub"
	if verified := conditions.Of(o, sourcev1.SourceVerifiedCondition); verified.Status != metav1.ConditionTrue || verified.Message != want {
		t.Errorf("%v", conditionLines(o))
	}
	// One that nobody signed does not replace it.
	registry.Push(t, "app", "latest", ocitest.Files{"a": "2"})
	s.request(o, "moved")
	s.awaitFailure(o, sourcev1.VerificationError)
	if o.Status.Artifact == nil || o.Status.Artifact.Revision != "latest@"+first {
		t.Errorf("%+v", o.Status.Artifact)
	}
}

func TestASecretThatComesLate(t *testing.T) {
	registry := ocitest.New(t, ocitest.BasicAuth("reader", "secret"))
	digest := registry.Push(t, "app", "latest", ocitest.Files{"a": "1"})
	s := newSite(t, withRegistries)
	o := s.image("app", registry.URL("app"), nil, func(o *sourcev1.OCIRepository) { o.Spec.SecretRef = ref("login") })
	s.awaitFailure(o, sourcev1.AuthenticationFailedReason)
	secret := dockerConfig("login", registry.Host(), "secret")
	secret.Namespace = s.namespace
	s.create(secret)
	s.awaitRevision(o, "latest@"+digest)
}
