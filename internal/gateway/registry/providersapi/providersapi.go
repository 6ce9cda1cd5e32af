// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providersapi

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/mirror"
	"github.com/yuba-dev/yuba/internal/registry/offer"
	"github.com/yuba-dev/yuba/internal/registry/own"
	"github.com/yuba-dev/yuba/internal/registry/release"
)

// api serves requests with the errors that a client understands.
type api struct {
	log *slog.Logger
}

func (a api) handle(mux *http.ServeMux, pattern string, serve func(http.ResponseWriter, *http.Request) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
}

// fail answers with a metav1.Status.
func (a api) fail(w http.ResponseWriter, r *http.Request, err error) {
	var (
		invalid  *own.InvalidError
		conflict *own.ConflictError
		archive  *mirror.InvalidError
		full     *offer.StoreError
		wrong    *mirror.UntrustedError
		known    *apierrors.StatusError
	)
	code := http.StatusOK
	switch {
	case errors.As(err, &invalid), errors.As(err, &archive), errors.As(err, &wrong):
		code = http.StatusUnprocessableEntity
	case errors.As(err, &conflict):
		code = http.StatusConflict
	case errors.As(err, &full):
		code = http.StatusInsufficientStorage
		a.log.Error("the registry cannot store", "request", r.Method+" "+r.URL.Path, "error", err)
	case errors.As(err, &known):
		code = int(known.ErrStatus.Code)
	}
	if code == http.StatusOK || r.Context().Err() != nil {
		registry.FailManaging(w, r, err, func(err error) {
			a.log.Error("managing the registry's providers failed", "request", r.Method+" "+r.URL.Path, "error", err)
		})
		return
	}
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: err.Error()} //nolint:gosec // three digits
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(status) //nolint:errcheck // the client is gone
}

var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
}

func send(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(value)
}

func badRequest(err error) error { return apierrors.NewBadRequest(err.Error()) }

// userOf is the authenticated user of a request.
func userOf(r *http.Request) string {
	if info, ok := request.UserFrom(r.Context()); ok {
		return info.GetName()
	}
	return "an unknown user"
}

// providers manages the registry's own.
type providers struct {
	api
	store *own.Store
}

// Providers serves …/providers.
func Providers(store *own.Store, log *slog.Logger) http.Handler {
	p := providers{api{log}, store}
	mux := http.NewServeMux()
	const path = content.PathPrefix + "/providers"
	p.handle(mux, "GET "+path, p.list)
	p.handle(mux, "GET "+path+"/{namespace}", p.get)
	p.handle(mux, "PUT "+path+"/{namespace}", p.put)
	return mux
}

// SigningKeys serves …/signingkeys. They are a resource of their own, because a key
// decides whose releases clients trust: publishing must not include that.
func SigningKeys(store *own.Store, log *slog.Logger) http.Handler {
	p := providers{api{log}, store}
	mux := http.NewServeMux()
	const path = content.PathPrefix + "/signingkeys/{namespace}"
	p.handle(mux, "GET "+path, p.keys)
	p.handle(mux, "PUT "+path, p.addKey)
	p.handle(mux, "DELETE "+path, p.removeKey)
	return mux
}

func (p providers) list(w http.ResponseWriter, r *http.Request) error {
	list := content.RegistryProviderList{Items: []content.RegistryProvider{}}
	for _, name := range p.store.Providers(r.Context()) {
		if only := r.PathValue("namespace"); only != "" && name.Namespace != only {
			continue
		}
		releases, err := p.releases(r, name)
		if errors.Is(err, offer.ErrNone) {
			continue // deleted by another program
		}
		if err != nil {
			return err
		}
		list.Items = append(list.Items, content.RegistryProvider{Provider: name.String(), Versions: len(releases.Items), Latest: releases.Items[0]})
	}
	return send(w, list)
}

func (p providers) releases(r *http.Request, name layout.Provider) (content.ProviderReleaseList, error) {
	list := content.ProviderReleaseList{Items: []content.ProviderRelease{}}
	versions, err := p.store.Versions(r.Context(), name)
	if err != nil {
		return list, err
	}
	for _, v := range versions {
		one, err := p.store.Describe(r.Context(), layout.ProviderVersion{Provider: name, Version: v.Version})
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, described(one))
	}
	return list, nil
}

func described(p own.Published) content.ProviderRelease {
	d := content.ProviderRelease{Provider: p.Provider.String(), Version: p.Version, Protocols: p.Protocols, Signer: p.Signer, Published: p.Published, By: p.By, Unverified: p.Unverified,
		Packages: map[string]release.Package{}}
	for platform, pkg := range p.Packages {
		d.Packages[platform.String()] = pkg
	}
	return d
}

// named reads the provider, and the version if there is one, in a request.
func named(r *http.Request) (layout.ProviderVersion, error) {
	p, err := layout.ParseProvider(r.PathValue("namespace") + "/" + r.URL.Query().Get("provider"))
	if err != nil || p.Host != "" {
		return layout.ProviderVersion{}, apierrors.NewBadRequest("expected …/providers/NAMESPACE?provider=NAME, both in lower case")
	}
	v := layout.ProviderVersion{Provider: p, Version: r.URL.Query().Get("version")}
	if v.Version != "" {
		if _, err := layout.ParseVersion(v.Version); err != nil {
			return v, badRequest(err)
		}
	}
	return v, nil
}

func (p providers) get(w http.ResponseWriter, r *http.Request) error {
	if !r.URL.Query().Has("provider") {
		return p.list(w, r)
	}
	v, err := named(r)
	if err != nil {
		return err
	}
	if v.Version == "" {
		list, err := p.releases(r, v.Provider)
		if err != nil {
			return err
		}
		return send(w, list)
	}
	one, err := p.store.Describe(r.Context(), v)
	if err != nil {
		return err
	}
	return send(w, described(one))
}

func (p providers) put(w http.ResponseWriter, r *http.Request) error {
	v, err := named(r)
	if err != nil {
		return err
	}
	if v.Version == "" {
		return apierrors.NewBadRequest("expected …/providers/NAMESPACE?provider=NAME&version=VERSION")
	}
	done, changed, err := p.store.Publish(r.Context(), v, r.Body, userOf(r))
	if err != nil {
		return err
	}
	return send(w, content.PublishedProvider{Release: described(done), Changed: changed})
}

func (p providers) keys(w http.ResponseWriter, r *http.Request) error {
	keys, err := p.store.Keys(r.Context(), r.PathValue("namespace"))
	if err != nil {
		return err
	}
	return send(w, content.SigningKeyList{Items: keys})
}

func (p providers) addKey(w http.ResponseWriter, r *http.Request) error {
	armor, err := io.ReadAll(http.MaxBytesReader(w, r.Body, release.MaxKeys))
	if err != nil {
		return err
	}
	key, err := p.store.AddKey(r.Context(), r.PathValue("namespace"), armor)
	if err != nil {
		return err
	}
	p.log.Info("added a signing key", "by", userOf(r), "namespace", r.PathValue("namespace"), "key", key.Fingerprint)
	return send(w, key)
}

func (p providers) removeKey(w http.ResponseWriter, r *http.Request) error {
	key, err := p.store.RemoveKey(r.Context(), r.PathValue("namespace"), r.URL.Query().Get("key"))
	if err != nil {
		return err
	}
	p.log.Info("removed a signing key", "by", userOf(r), "namespace", r.PathValue("namespace"), "key", key.Fingerprint)
	return send(w, key)
}

// mirrored manages the mirror.
type mirrored struct {
	api
	mirror *mirror.Mirror
}

// Mirror serves …/mirror.
func Mirror(m *mirror.Mirror, log *slog.Logger) http.Handler {
	s := mirrored{api{log}, m}
	mux := http.NewServeMux()
	const path = content.PathPrefix + "/mirror"
	s.handle(mux, "GET "+path, s.list)
	s.handle(mux, "POST "+path, s.take)
	s.handle(mux, "DELETE "+path+"/{host}", s.remove)
	return mux
}

func (s mirrored) list(w http.ResponseWriter, r *http.Request) error {
	list, err := s.mirror.List(r.Context())
	if err != nil {
		return err
	}
	return send(w, content.MirrorList{Items: list})
}

func (s mirrored) take(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	list, err := s.mirror.Import(r.Context(), r.Body, mirror.ImportOptions{AllowUnsigned: query.Get("unsigned") == "true", AllowNewKeys: query.Get("newKeys") == "true"})
	if err != nil {
		return err
	}
	s.log.Info("imported into the mirror of providers", "by", userOf(r), "archives", len(list))
	return send(w, content.CarriedList{Items: list})
}

func (s mirrored) remove(w http.ResponseWriter, r *http.Request) error {
	p, err := layout.ParseProvider(r.PathValue("host") + "/" + r.URL.Query().Get("provider"))
	if err != nil {
		return badRequest(err)
	}
	version := r.URL.Query().Get("version")
	if version != "" {
		if _, err := layout.ParseVersion(version); err != nil {
			return badRequest(err)
		}
	}
	removed, err := s.mirror.Remove(r.Context(), p, version)
	if err != nil {
		return err
	}
	s.log.Info("removed from the mirror of providers", "by", userOf(r), "provider", p.String(), "versions", len(removed))
	return send(w, content.MirrorList{Items: removed})
}
