// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// Manager serves the management API. Its caller has authorised each request: the API server, or
// the registry's own address.
func (s *Server) Manager() http.Handler {
	mux := http.NewServeMux()
	const modules = content.PathPrefix + "/modules"
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET " + content.PathPrefix + "/registry": s.describe,
		"GET " + modules:                    s.listModules,
		"GET " + modules + "/{namespace}":   s.getModule,
		"PUT " + modules + "/{namespace}":   s.publishModule,
		"PATCH " + modules + "/{namespace}": s.markModule,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := s.unavailable()
			if err == nil {
				err = serve(w, r)
			}
			if err != nil {
				s.failManaging(w, r, err)
			}
		})
	}
	for resource, handler := range s.opts.Management {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := s.unavailable(); err != nil {
				s.failManaging(w, r, err)
				return
			}
			handler.ServeHTTP(w, r)
		})
		mux.Handle(content.PathPrefix+"/"+resource, handler)
		mux.Handle(content.PathPrefix+"/"+resource+"/", handler)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.failManaging(w, r, problem(http.StatusNotFound, r.Method+" "+r.URL.Path+": this registry cannot do that"))
	})
	return s.audited(withoutSelectors(mux, s.failManaging))
}

// withoutSelectors refuses selectors. The API server takes the name that it authorises for a list from
// them, but lists here are of all names.
func withoutSelectors(next http.Handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		for _, parameter := range []string{"fieldSelector", "labelSelector", "watch"} {
			if query.Has(parameter) {
				fail(w, r, problem(http.StatusBadRequest, "the registry has no "+parameter))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// audited logs every change: who, what, and its result.
func (s *Server) audited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, status := s.opts.Now(), &recorder{ResponseWriter: w}
		next.ServeHTTP(status, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.opts.Log.Info("change of the registry", "who", userOf(r), "method", r.Method, "path", r.URL.Path, "module", r.URL.Query().Get("module"),
				"provider", r.URL.Query().Get("provider"), "version", r.URL.Query().Get("version"), "status", status.code(), "from", r.RemoteAddr)
		}
		s.opts.Observe(Served{Kind: "manage", Status: status.code(), Took: s.opts.Now().Sub(began)})
	})
}

// userOf is the authenticated user of a request.
func userOf(r *http.Request) string {
	if info, ok := request.UserFrom(r.Context()); ok {
		return info.GetName()
	}
	return "an unknown user"
}

// asResources reads requests as the API server does.
var asResources = &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}

// manageByToken serves the management API at the registry's own address: authorised for the same
// verbs, resources and names that the API server would find in the request.
func (s *Server) manageByToken(mux *http.ServeMux) {
	manager := s.Manager()
	mux.HandleFunc(content.PathPrefix+"/", func(w http.ResponseWriter, r *http.Request) {
		info, err := asResources.NewRequestInfo(r)
		if err == nil && (info.APIGroup != content.Group || info.Namespace != "" || !content.ServesRegistry(info.Resource)) {
			err = problem(http.StatusNotFound, "this address serves the registry only")
		}
		var who Identity
		if err == nil {
			who, err = s.byToken(r)
		}
		if err == nil {
			err = s.may(r, who, Action{Verb: info.Verb, Resource: info.Resource, Name: info.Name})
		}
		if err != nil {
			s.failManaging(w, r, err)
			return
		}
		known := &user.DefaultInfo{Name: who.Name, UID: who.UID, Groups: who.Groups, Extra: who.Extra}
		manager.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), known)))
	})
}

// failManaging answers with a metav1.Status, as the API server does.
func (s *Server) failManaging(w http.ResponseWriter, r *http.Request, err error) {
	FailManaging(w, r, err, func(err error) {
		s.opts.Log.Error("managing the registry failed", "request", r.Method+" "+r.URL.Path, "error", err)
	})
}

// FailManaging answers a request of the management API with an error. log gets unexpected errors, whose
// details the client does not see.
func FailManaging(w http.ResponseWriter, r *http.Request, err error, log func(error)) {
	code, message := statusOf(err), err.Error()
	if r.Context().Err() != nil {
		return // the client is gone
	}
	if code == http.StatusInternalServerError {
		log(err)
		message = "see the server's log"
	}
	challenge(w, err)
	if code == http.StatusInsufficientStorage { // the error names files of the server
		log(err)
		message = "the registry's store, or its directory for uploads, is full, and nothing was published. Free room there, and try again; the server's log names the place"
	}
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: metav1.StatusFailure, Code: int32(code), Reason: reasons[code], Message: message} //nolint:gosec // three digits
	if seconds := retryAfter(w, err); seconds > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(status) //nolint:errcheck // the client is gone
}

// reasons are those of the statuses that clients distinguish.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest:            metav1.StatusReasonBadRequest,
	http.StatusUnauthorized:          metav1.StatusReasonUnauthorized,
	http.StatusForbidden:             metav1.StatusReasonForbidden,
	http.StatusNotFound:              metav1.StatusReasonNotFound,
	http.StatusConflict:              metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity:   metav1.StatusReasonInvalid,
	http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusTooManyRequests:       metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError:   metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:    metav1.StatusReasonServiceUnavailable,
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request) error {
	return sendJSON(w, content.RegistryInfo{Host: s.opts.Host, CA: string(s.opts.CA), Anonymous: s.opts.Anonymous})
}

func (s *Server) listModules(w http.ResponseWriter, r *http.Request) error {
	return s.sendModules(w, r, "")
}

// sendModules lists the modules of a namespace, or with an empty one all.
func (s *Server) sendModules(w http.ResponseWriter, r *http.Request, namespace string) error {
	list := content.ModuleList{Items: []content.ModuleSummary{}}
	for _, m := range s.opts.Modules.Modules(r.Context()) {
		if namespace != "" && m.Namespace != namespace {
			continue
		}
		releases, err := s.opts.Modules.Versions(r.Context(), m)
		if errors.Is(err, catalog.ErrNone) {
			continue // deleted by another program
		}
		if err != nil {
			return err
		}
		if len(releases) > 0 {
			list.Items = append(list.Items, content.ModuleSummary{Module: m.String(), Versions: len(releases), Latest: catalog.Latest(releases)})
		}
	}
	return sendJSON(w, list)
}

func (s *Server) getModule(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if !q.Has("module") {
		return s.sendModules(w, r, r.PathValue("namespace"))
	}
	if q.Get("version") != "" {
		v, err := managedVersion(r)
		if err != nil {
			return err
		}
		release, err := s.opts.Modules.Describe(r.Context(), v)
		if err != nil {
			return s.withVersions(r, v, err)
		}
		return sendJSON(w, release)
	}
	m, err := managedModule(r)
	if err != nil {
		return err
	}
	releases, err := s.opts.Modules.Versions(r.Context(), m)
	if err != nil {
		return err
	}
	return sendJSON(w, content.ReleaseList{Items: releases})
}

func managedModule(r *http.Request) (layout.Module, error) {
	m, err := layout.ParseModule(r.PathValue("namespace") + "/" + r.URL.Query().Get("module"))
	if err != nil {
		err = problem(http.StatusBadRequest, err.Error())
	}
	return m, err
}

func managedVersion(r *http.Request) (layout.ModuleVersion, error) {
	m, err := managedModule(r)
	if err != nil {
		return layout.ModuleVersion{}, err
	}
	v := layout.ModuleVersion{Module: m, Version: r.URL.Query().Get("version")}
	if _, err := layout.ParseVersion(v.Version); err != nil {
		return v, problem(http.StatusBadRequest, err.Error())
	}
	return v, nil
}

func (s *Server) publishModule(w http.ResponseWriter, r *http.Request) error {
	v, err := managedVersion(r)
	if err != nil {
		return err
	}
	if s.isContract(v.Module) {
		return problem(http.StatusConflict, fmt.Sprintf("publish %s: the registry makes the modules contracts/NAME/publish from the Contracts of the API. Choose another name", v))
	}
	release, changes, err := s.opts.Modules.Publish(r.Context(), v, r.Body, catalog.PublishOptions{By: userOf(r), Force: r.URL.Query().Get("force") == "true"})
	if err != nil {
		return err
	}
	return sendJSON(w, content.PublishedModule{Release: release, Changes: changes})
}

// maxNotice limits the body of a notice.
const maxNotice = 16 << 10

func (s *Server) markModule(w http.ResponseWriter, r *http.Request) error {
	v, err := managedVersion(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if err != nil {
		return err
	}
	var notice *catalog.Notice
	if err := json.Unmarshal(body, &notice); err != nil {
		return problem(http.StatusBadRequest, fmt.Sprintf("read the notice: %v; expected null or {\"kind\": \"deprecated\" or \"revoked\", \"reason\": …}", err))
	}
	if notice != nil {
		if notice.Kind != catalog.Deprecated && notice.Kind != catalog.Revoked || notice.Reason == "" {
			return problem(http.StatusBadRequest, "a notice needs the kind deprecated or revoked, and a reason")
		}
		notice.By, notice.At = userOf(r), s.opts.Now().UTC().Truncate(time.Second)
	}
	release, err := s.opts.Modules.Mark(r.Context(), v, notice)
	if err != nil {
		return s.withVersions(r, v, err)
	}
	return sendJSON(w, release)
}
