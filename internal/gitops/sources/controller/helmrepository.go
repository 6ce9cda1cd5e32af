// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

const (
	// maxIndex and maxChart limit what a repository sends, as in Flux; a chart in Flux may have 10 MiB.
	maxIndex = 50 << 20
	maxChart = 32 << 20
	// maxRedirects limits redirects; repositories redirect to stores.
	maxRedirects = 5
)

// helmRepositories is the kind HelmRepository. One of the type oci only says where charts are.
func helmRepositories(reader client.Reader) *kind {
	return &kind{
		name: sourcev1.HelmRepositoryKind, plural: "helmrepositories", new: func() Object { return &sourcev1.HelmRepository{} },
		list:   func() client.ObjectList { return &sourcev1.HelmRepositoryList{} },
		stored: "stored artifact: revision '%s'", failed: sourcev1.IndexationFailedReason, extension: "yaml",
		idle: func(o Object) bool {
			return o.(*sourcev1.HelmRepository).Spec.Type == sourcev1.HelmRepositoryTypeOCI
		},
		look: func(ctx context.Context, o Object, _ bool) (*Found, error) {
			return lookIndex(ctx, reader, o.(*sourcev1.HelmRepository))
		},
		view: func(o Object) view {
			r := o.(*sourcev1.HelmRepository)
			return view{url: r.Spec.URL, suspended: r.Spec.Suspend, timeout: timeoutOf(r.Spec.Timeout),
				artifact: &r.Status.Artifact, generation: &r.Status.ObservedGeneration, handled: &r.Status.LastHandledReconcileAt, archive: &r.Status.URL}
		},
		observed: func(o Object) bool { return true },
		observe:  func(o Object) {},
		references: func(o Object) []string {
			r := o.(*sourcev1.HelmRepository)
			return secretNames(r.Spec.SecretRef, r.Spec.CertSecretRef)
		},
	}
}

// lookIndex fetches the index. A repository says nothing about it before.
func lookIndex(ctx context.Context, reader client.Reader, o *sourcev1.HelmRepository) (*Found, error) {
	site, err := newRepositorySite(ctx, reader, o)
	if err != nil {
		return nil, err
	}
	defer site.transport.CloseIdleConnections()
	index, err := site.get(ctx, "index.yaml", maxIndex)
	if err != nil {
		return nil, upstream.Attempted(sourcev1.IndexationFailedReason, "fetch the index of "+o.Spec.URL, err, func(error) string { return "" })
	}
	if text := bytes.TrimSpace(index); len(text) == 0 || !bytes.Contains(text, []byte("entries")) {
		return nil, upstream.Failed(sourcev1.IndexationFailedReason, nil, "what %s/index.yaml answers is not an index of charts: it has no entries", strings.TrimSuffix(o.Spec.URL, "/"))
	}
	sum := sha256.Sum256(index)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	return &Found{Revision: digest, ContentKey: digest, Archive: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(index)), nil
	}}, nil
}

// repositorySite is a repository over HTTP.
type repositorySite struct {
	base           *url.URL
	transport      *http.Transport
	client         *http.Client
	user, password string
	// everywhere sends the credentials to other hosts, too: spec.passCredentials.
	everywhere bool
}

func newRepositorySite(ctx context.Context, reader client.Reader, o *sourcev1.HelmRepository) (*repositorySite, error) {
	base, err := url.Parse(strings.TrimSuffix(o.Spec.URL, "/") + "/")
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, upstream.Stalled(sourcev1.URLInvalidReason, nil, "write spec.url as https://host/path, or set spec.type to oci for oci://host/path")
	}
	if base.User != nil {
		return nil, upstream.Stalled(sourcev1.URLInvalidReason, nil, "spec.url must not have credentials; use spec.secretRef")
	}
	access, err := accessOf(ctx, reader, o.Namespace, o.Spec.CertSecretRef, nil)
	if err != nil {
		return nil, err
	}
	s := &repositorySite{base: base, everywhere: o.Spec.PassCredentials}
	if err := s.credentials(ctx, reader, o, &access); err != nil {
		return nil, err
	}
	if s.transport, err = access.Transport(); err != nil {
		return nil, authenticationFailed(err)
	}
	s.client = &http.Client{Transport: s.transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return &upstream.Problem{Text: fmt.Sprintf("it redirects more than %d times", maxRedirects)}
		}
		if via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return &upstream.Problem{Text: "it redirects from https to http"}
		}
		return nil
	}}
	return s, nil
}

// credentials reads spec.secretRef: a user with a password, and certificates, as Flux allows there, too.
func (s *repositorySite) credentials(ctx context.Context, reader client.Reader, o *sourcev1.HelmRepository, access *upstream.Access) error {
	if o.Spec.SecretRef == nil {
		return nil
	}
	secret, err := readSecret(ctx, reader, o.Namespace, o.Spec.SecretRef.Name)
	if err != nil {
		return authenticationFailed(err)
	}
	s.user, s.password = string(secret.Data[corev1.BasicAuthUsernameKey]), string(secret.Data[corev1.BasicAuthPasswordKey])
	if (s.user == "") != (s.password == "") {
		return authenticationFailed(fmt.Errorf("the Secret %s/%s needs both username and password", o.Namespace, secret.Name))
	}
	if o.Spec.CertSecretRef == nil && (len(entry(secret, "ca.crt", "caFile")) > 0 || len(entry(secret, "tls.crt", "certFile")) > 0) {
		certificates, err := accessOf(ctx, reader, o.Namespace, &meta.LocalObjectReference{Name: secret.Name}, nil)
		if err != nil {
			return err
		}
		*access = certificates
	}
	return nil
}

// get fetches a file; a relative reference is below the repository.
func (s *repositorySite) get(ctx context.Context, reference string, limit int64) ([]byte, error) {
	at, err := s.base.Parse(reference)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		return nil, &upstream.Problem{Text: "its index has an address that is none of http or https"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "yuba")
	if s.user != "" && (s.everywhere || at.Host == s.base.Host && at.Scheme == s.base.Scheme) {
		r.SetBasicAuth(s.user, s.password)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return nil, &upstream.Problem{Text: upstream.Status("repository", response.StatusCode, repositoryHints)}
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &upstream.Problem{Text: fmt.Sprintf("it has more than %d MiB", limit>>20), Content: true}
	}
	return data, err
}

var repositoryHints = map[int]string{
	http.StatusUnauthorized: "name a Secret with username and password in spec.secretRef of the HelmRepository",
	http.StatusForbidden:    "the user of spec.secretRef may not read it",
	http.StatusNotFound:     "check spec.url of the HelmRepository, which is the address without /index.yaml",
}
